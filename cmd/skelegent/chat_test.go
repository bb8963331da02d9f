package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Through a pipe: one line, one turn; the second sees the first.
func TestChatThroughAPipe(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	r := w.call(t, call{in: "I like tea.\n\n  \nWhat do I like?\n"}, "chat", "session", "--session", "tea")
	r.want(t, exitDone, "before: nothing, now: I like tea.\nbefore: \"I like tea.\", now: What do I like?\n", "")
	if r.err != "" {
		t.Errorf("said %q", r.err)
	}
	w.call(t, call{in: "And now?"}, "chat", "session", "--session", "tea").want(t, exitDone, "before: \"What do I like?\", now: And now?\n", "")
	r = w.call(t, call{in: "hello\n"}, "chat", "session")
	r.want(t, exitDone, "before: nothing", "go on with: skelegent chat session --session ")
	session := strings.TrimSpace(r.err[strings.LastIndex(r.err, " "):])
	w.call(t, call{in: "again\n"}, "chat", "session", "--session", session, "--json").want(t, exitDone, `{"message":"before: \"hello\", now: again"`, "")
	w.call(t, call{in: "x\ny\n"}, "chat", "fails", "--session", "s").want(t, exitFailed, "", "tool_error: it broke\n")
	w.call(t, call{in: "x\n"}, "chat", "nobody", "--session", "s").want(t, exitFailed, "", "not_found: operator not found: nobody; there are: ")
	w.call(t, call{in: "x\n"}, "chat", "plain", "--session", "s").want(t, exitDone, "x\n", "")
	w.call(t, call{in: ""}, "chat", "plain", "--session", "s").want(t, exitDone, "", "")
}

// terminal is a chat at a terminal.
type terminal struct {
	in        *io.PipeWriter
	out, err  *buffer
	done      chan result
	interrupt func() bool
}

func (w *world) terminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	in, typed := io.Pipe()
	term := &terminal{in: typed, out: &buffer{}, err: &buffer{}, done: make(chan result, 1)}
	t.Cleanup(func() { _ = typed.Close() })
	interrupts := make(chan func() bool, 1)
	go func() {
		term.done <- w.call(t, call{
			stdin: in, inTTY: true, outTTY: true, errTTY: true, stdout: term.out, stderr: term.err, interrupts: interrupts,
		}, append([]string{"chat"}, args...)...)
	}()
	term.interrupt = <-interrupts
	return term
}

func (term *terminal) types(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(term.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func TestChatAtATerminal(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	term := w.terminal(t, "agent", "--session", "s")
	term.out.waitFor(t, "> ")
	term.types(t, "hello")
	term.out.waitFor(t, "Nothing to delete.\n> ")
	term.types(t, "delete it")
	term.out.waitFor(t, "Let me see.\n"+"waits for your approval:\n  call-1  delete {\"path\":\"/etc\"}\n  call-2  delete {\"path\":\"/tmp\"}\napprove? ")
	term.types(t, "perhaps")
	term.out.waitFor(t, "and why] approve? [y")
	term.types(t, "n not today")
	term.out.waitFor(t, "That is done.\n> ")
	w.run(t, "show", "agent/s").want(t, exitDone, "call-2 delete: denied, not today", "")
	term.types(t, "delete it once more")
	term.out.waitFor(t, "That is done.\n> Let me see.\nwaits for your approval:\n  call-1  delete {\"path\":\"/etc\"}\n  call-2  delete {\"path\":\"/tmp\"}\napprove? ")
	_ = term.in.Close() // Ctrl-D
	r := <-term.done
	if r.code != exitDone || !strings.Contains(term.err.String(), "cancelled: not answered: skelegent approve agent/s, or skelegent deny agent/s\n") {
		t.Errorf("got %+v, %q", r, term.err.String())
	}
	w.until(t, "agent/s", "suspended") // it still waits
	w.run(t, "approve", "agent/s").want(t, exitDone, "approved", "")
	w.run(t, "result", "agent/s", "--wait").want(t, exitDone, "That is done.\n", "")
}

func TestChatInterrupted(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	term := w.terminal(t, "holds", "--session", "s")
	term.out.waitFor(t, "> ")
	term.types(t, "begin")
	<-w.running
	if !term.interrupt() {
		t.Error("nobody takes Ctrl-C")
	}
	term.err.waitFor(t, "cancelled: the run was cancelled\n")
	term.out.waitFor(t, "> > ")
	w.until(t, "holds/s", "idle")
	term.interrupt() // at the prompt: the end
	if r := <-term.done; r.code != exitDone {
		t.Errorf("got %+v", r)
	}
	if got := term.err.String(); !strings.Contains(got, "go on with: skelegent chat holds --session s\n") {
		t.Errorf("said %q", got)
	}
	if term.interrupt() {
		t.Error("Ctrl-C is still taken")
	}
}

// Ctrl-C in a process of its own: it stops the turn, not the program.
func TestChatInterruptedByASignal(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	cmd := exec.CommandContext(testContext(t), binary(t), "chat", "holds", "--session", "s", "--nats", w.url)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs := &buffer{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "begin\n"); err != nil {
		t.Fatal(err)
	}
	<-w.running
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it failed, and is no terminal: the end
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || errs.String() != "cancelled: the run was cancelled\n" {
		t.Errorf("got code %d, %q", code, errs.String())
	}
	w.run(t, "result", "holds/s").want(t, exitFailed, "", "cancelled: the run was cancelled")
}

// Tokens of a durable run come live, the rest of its log.
func TestStreamOfDurable(t *testing.T) {
	t.Parallel()
	w := newDurable(t)
	var out buffer
	done := make(chan result, 1)
	go func() {
		done <- w.call(t, call{inTTY: true, outTTY: true, stdout: &out}, "dispatch", "talks", "x", "--session", "s")
	}()
	<-w.running
	out.waitFor(t, "one two three") // before the answer
	close(w.release)
	if r := <-done; r.code != exitDone || out.String() != "one two three\n" {
		t.Errorf("got %+v, %q", r, out.String())
	}
	out = buffer{}
	w.call(t, call{inTTY: true, outTTY: true, stdout: &out}, "dispatch", "agent", "hello").want(t, exitDone, "", "")
	if out.String() != "Nothing to delete.\n" {
		t.Errorf("got %q", out.String())
	}
	// At a terminal it says that it waits, and how to answer.
	var errs buffer
	out = buffer{}
	go func() {
		done <- w.call(t, call{inTTY: true, outTTY: true, errTTY: true, stdout: &out, stderr: &errs}, "dispatch", "agent", "delete it", "--session", "d")
	}()
	errs.waitFor(t, "waits for an approval: delete, delete: skelegent approve agent/d, or skelegent deny agent/d\n")
	w.run(t, "approve", "agent/d").want(t, exitDone, "", "")
	if r := <-done; r.code != exitDone || out.String() != "Let me see.\nThat is done.\n" {
		t.Errorf("got %+v, %q", r, out.String())
	}
}
