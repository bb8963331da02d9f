//go:build unix

package chaos_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
)

var (
	long = flag.Bool("chaos.long", false, "three servers, five nodes, 2,000 tasks, and every kind of fault")
	seed = flag.Uint64("chaos.seed", 0, "what decides the faults; one is made and printed if 0")
	keep = flag.Bool("chaos.keep", false, "keep the directory of a run that succeeded, too")
)

// What a process that the test starts is told by its environment.
const (
	envRole     = "SKG_CHAOS_ROLE" // server or node
	envSlot     = "SKG_CHAOS_SLOT" // its name, and its identity: the same after a restart
	envDir      = "SKG_CHAOS_DIR"
	envURLs     = "SKG_CHAOS_URLS"     // of node: all servers
	envReplicas = "SKG_CHAOS_REPLICAS" // of node
	envPort     = "SKG_CHAOS_PORT"     // of server
	envRoutes   = "SKG_CHAOS_ROUTES"   // of server: the ports of the cluster, its own first; empty for a single one
)

// exitStart is the exit code of a process that could not start, for instance without a quorum: it is started again.
const exitStart = 3

func TestMain(m *testing.M) {
	role := os.Getenv(envRole)
	if role == "" {
		embedtest.VerifyTestMain(m)
		return
	}
	go func() { // without the test nobody would end this process
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var err error
	switch role {
	case "server":
		err = serve()
	case "node":
		err = host()
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, time.Now().Format(time.StampMilli), err)
		os.Exit(exitStart)
	}
	os.Exit(0)
}

func ports(list string) (found []int) {
	for word := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(word); err == nil {
			found = append(found, n)
		}
	}
	return found
}

// childLogger writes to the standard error of the process, which the test has made a file.
func childLogger() *zap.Logger {
	cfg := zap.NewDevelopmentEncoderConfig()
	cfg.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), zapcore.Lock(os.Stderr), zap.DebugLevel))
}
