package manifest_test

import (
	"os"
	"testing"

	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{envNamed: "named", envOther: "other"} { // before the tests, which run side by side
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	embedtest.VerifyTestMain(m)
}

// Variables of the node, of which a tool may have the first.
const (
	envNamed = "MANIFEST_TEST_NAMED"
	envOther = "MANIFEST_TEST_OTHER"
)
