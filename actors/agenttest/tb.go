package agenttest

import (
	"context"
	"fmt"
	"testing"
)

// printer stands for the test where there is none: in an example, whose output then is not what it should be.
type printer struct{ testing.TB }

func orPrint(tb testing.TB) testing.TB { //nolint:thelper // tb may be nil
	if tb == nil {
		return printer{}
	}
	return tb
}

func (printer) Helper()                           {}
func (printer) Cleanup(func())                    {}
func (printer) Context() context.Context          { return context.Background() }
func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printer) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
