package manifest_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }
