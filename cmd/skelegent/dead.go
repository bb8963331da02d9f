package main

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func newDead(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use: "dead", Short: "Look after what could not be processed",
		Long: `Dead letters hold what could not be processed, whole, with the reason. An effect that failed can be asked for again;
its id stays the same, so an executor that knows it does nothing twice. The input of a run that failed can be given to its
operator again, as a run of its own: in the same session if it has one.`,
		Example: "  skelegent dead ls\n  skelegent dead show 17\n  skelegent dead retry 17 --nkey .skelegent/node.key",
	}, newDeadList(a), newDeadShow(a),
		newDeadChange(a, "retry", "Do it again, an effect or a run, and remove the letter", "retried",
			func(ctx context.Context, s *session, d bus.DeadMessage) error { return s.RetryDead(ctx, d) }),
		newDeadChange(a, "drop", "Remove a letter", "dropped",
			func(ctx context.Context, s *session, d bus.DeadMessage) error { return s.DropDead(ctx, d) }))
}

func newDeadList(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "ls [OPERATOR]", Short: "List the dead letters, newest first", Args: cobra.MaximumNArgs(1),
		Example: "  skelegent dead ls\n  skelegent dead ls assistant --json",
	}
	addLimit(cmd, &limit)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		operator, err := optionalOperator(args)
		if err == nil {
			err = checkLimit(limit)
		}
		if err != nil {
			return err
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			found, err := s.DeadLetters(ctx, operator, limit+1)
			if err != nil {
				return err
			}
			if len(found) > limit {
				a.err.printf("the newest %d are shown; see more with --limit\n", limit)
			}
			return a.showLetters(found[:min(len(found), limit)])
		})
	}
	return cmd
}

func (a *app) showLetters(found []bus.DeadMessage) error {
	if a.flags.json {
		return a.out.json(found)
	}
	if len(found) == 0 {
		a.out.print("no dead letters\n")
		return nil
	}
	rows := make([][]string, len(found))
	for i, d := range found {
		rows[i] = []string{
			strconv.FormatUint(d.Seq, 10), age(d.Time), string(d.Letter.Operator), letterKind(&d.Letter),
			strconv.Itoa(len(d.Copies)), clip(d.Letter.ID, 80), clip(string(d.Letter.Reason.Code)+": "+d.Letter.Reason.Message, 80),
		}
	}
	return a.out.table([]string{"SEQ", "AGE", "OPERATOR", "KIND", "LETTERS", "ID", "REASON"}, rows)
}

// letterKind is what a letter is about.
func letterKind(l *protocol.DeadLetter) string {
	if len(l.Input) > 0 {
		return "run"
	}
	return effectText(l.Effect)
}

func newDeadShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID|SEQ", Short: "Show a dead letter with what is in it", Args: cobra.ExactArgs(1),
		Example: "  skelegent dead show 17\n  skelegent dead show assistant/0199d9f4-0000-7000-8000-000000000000/webhook/1/1",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			d, err := s.FindDead(ctx, args[0])
			if err != nil {
				return err
			}
			return a.showLetter(d)
		})
	}
	return cmd
}

func (a *app) showLetter(d bus.DeadMessage) error {
	if a.flags.json {
		return a.out.json(d)
	}
	l := d.Letter
	for _, row := range [][2]string{
		{"id", l.ID},
		{"stored", strconv.FormatUint(d.Seq, 10) + ", " + d.Time.Local().Format(time.DateTime) + ", letters " + strconv.Itoa(len(d.Copies))},
		{"operator", string(l.Operator)},
		{"instance", l.Instance},
		{"run", string(l.Run)},
		{"subject", l.Subject},
		{"attempts", strconv.Itoa(l.Attempts)},
		{"reason", string(l.Reason.Code) + ": " + l.Reason.Message},
	} {
		if row[1] != "" {
			a.out.printf("%-9s %s\n", row[0], oneLine(row[1]))
		}
	}
	switch {
	case l.Effect != nil:
		a.out.print("effect    ")
		return a.out.json(l.Effect.Effect)
	case len(l.Input) > 0:
		a.out.print("input     ")
		return a.out.json(l.Input)
	}
	raw := l.Raw
	if !utf8.Valid(raw) {
		quoted, err := json.Marshal(raw) // in base64
		if err != nil {
			return err
		}
		raw = quoted
	}
	a.out.print("message   " + a.out.text(string(raw)) + "\n")
	return nil
}

// newDeadChange is a command that does something to one letter, or to all.
func newDeadChange(a *app, name, short, done string, change func(context.Context, *session, bus.DeadMessage) error) *cobra.Command {
	var all bool
	var operator string
	cmd := &cobra.Command{
		Use: name + " ID|SEQ|--all", Short: short, Args: cobra.MaximumNArgs(1),
		Example: "  skelegent dead " + name + " 17 --nkey .skelegent/node.key\n  skelegent dead " + name + " --all --operator assistant",
		Long:    short + ". This needs a node's credentials: a guest may only look.",
	}
	cmd.Flags().BoolVar(&all, "all", false, "all letters instead of one")
	cmd.Flags().StringVar(&operator, "operator", "", "with --all: only those about this operator")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 1) {
			return usagef("give the ID or the SEQ of a letter, or --all")
		}
		if operator != "" && !all {
			return usagef("--operator goes with --all")
		}
		if _, err := optionalOperator(slices.DeleteFunc([]string{operator}, func(s string) bool { return s == "" })); err != nil {
			return err
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			letters, err := chosen(ctx, s, args, operator)
			if err != nil {
				return err
			}
			return a.changeLetters(ctx, s, letters, done, change)
		})
	}
	return cmd
}

// maxChanged bounds what --all takes at once; the rest is for the next time.
const maxChanged = 10_000

// chosen returns the letters that are meant, oldest first: the order in which effects were declared.
func chosen(ctx context.Context, s *session, args []string, operator string) ([]bus.DeadMessage, error) {
	if len(args) == 1 {
		d, err := s.FindDead(ctx, args[0])
		return []bus.DeadMessage{d}, err
	}
	letters, err := s.DeadLetters(ctx, operator, maxChanged)
	slices.Reverse(letters)
	return letters, err
}

// changeLetters goes on after a letter that cannot be changed, and reports the last such error.
func (a *app) changeLetters(ctx context.Context, s *session, letters []bus.DeadMessage, done string,
	change func(context.Context, *session, bus.DeadMessage) error,
) error {
	var last error
	changed := []string{}
	for _, d := range letters {
		err := change(ctx, s, d)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			if last != nil {
				a.err.print(describe(last) + "\n")
			}
			last = err
			continue
		}
		changed = append(changed, d.Letter.ID)
		if !a.flags.json {
			a.out.print(done + " " + oneLine(d.Letter.ID) + "\n")
		}
	}
	if a.flags.json {
		if err := a.out.json(map[string][]string{done: changed}); err != nil {
			return err
		}
	}
	return last
}
