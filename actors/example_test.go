package actors_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// runAssistant is the example of README.md, between the two marks.
func runAssistant(ctx context.Context, conn *bus.Conn) error {
	// README
	type place struct {
		Zone string `json:"zone,omitempty" jsonschema:"IANA name; UTC if empty"`
	}
	clock := tool.Func("clock", "Tells the time.", func(_ context.Context, in place) (string, error) {
		zone, err := time.LoadLocation(in.Zone)
		return time.Now().In(zone).Format(time.RFC3339), err
	})

	budget := protocol.MustDecimal("0.50")
	assistant, err := agent.New(agent.Config{
		Provider: openai.New(openai.Config{APIKey: secret.Env("OPENAI_API_KEY")}),
		Model:    "gpt-4o-mini",
		System:   "You are careful.",
		Tools:    []tool.Tool{clock},
		Limits:   agent.Limits{MaxTurns: 25, MaxCost: &budget},
	})
	if err != nil {
		return err
	}

	node, err := actors.NewNode(conn, actors.Config{})
	if err != nil {
		return err
	}
	if err := node.Register("assistant", assistant, actors.Durable(), actors.Concurrency(64)); err != nil {
		return err
	}
	return node.Run(ctx) // until ctx ends, then drains
	// README
}

// README
func onboard(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
	user, err := actors.Step(ctx, "create user", createUser) // runs once, recorded
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	if err := actors.Sleep(ctx, 72*time.Hour); err != nil { // holds nothing
		return protocol.OperatorOutput{}, err
	}
	answer, err := actors.Await[string](ctx, "manager", actors.Deadline(24*time.Hour)) // a signal, or ErrExpired
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	return actors.Call(ctx, "welcome", "assistant", protocol.Text("Welcome "+user+": "+answer))
}

// README

func createUser(context.Context) (string, error) { return "ann", nil }

var _ = protocol.OperatorFunc(onboard)

// The README shows the code that this package compiles.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?m)^\s*// README\n`).Split(string(source), -1)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	for i, part := range []string{strings.ReplaceAll("\n"+parts[1], "\n\t", "\n"), parts[3]} {
		code := strings.TrimSpace(part)
		if i >= len(blocks) || strings.TrimSpace(blocks[i][1]) != code {
			t.Errorf("README.md shows\n%s\nthe example is\n%s", blocks, code)
		}
	}
	if n := strings.Count(string(readme), "\n"); n > 200 {
		t.Errorf("README.md has %d lines, more than a newcomer reads", n)
	}
}

// A node of the example runs until its context ends, and drains.
func TestRunUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	ctx, cancel := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() { ended <- runAssistant(ctx, conn) }()
	for { // until it can be found
		found, err := conn.Operators(testContext(t), 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 {
			break
		}
	}
	cancel()
	if err := wait(t, ended); err != nil {
		t.Errorf("run: %v", err)
	}
}
