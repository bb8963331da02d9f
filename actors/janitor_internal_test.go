package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

type counting struct{ n int }

func (c *counting) Sweep(context.Context) (int, error) {
	c.n++
	return 1, nil
}

func TestJanitorSweepsNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counting{}
		j := startJanitor(c, zap.NewNop())
		time.Sleep(10 * time.Hour)
		j.stop()
		if c.n < 6 || c.n > 20 {
			t.Errorf("swept %d times in ten hours", c.n)
		}
	})
}
