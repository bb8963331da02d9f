package main

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

const defaultLimit = 100

// addLimit adds the flag that bounds a list.
func addLimit(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", defaultLimit, "how many to show at most")
}

func checkLimit(limit int) error {
	if limit < 1 {
		return usagef("--limit must be 1 or more")
	}
	return nil
}

func newOperators(a *app) *cobra.Command {
	var wait time.Duration
	var limit int
	cmd := &cobra.Command{
		Use: "operators", Short: "List the operators that answer, with their figures",
		Long: `Ask all nodes which operators they host. An operator on several nodes has a line for each. The figures are those
since the start of the node; TASKS are the operator's inputs and wakes that are not done, TIMERS what it has set to come.
An operator that nobody hosts is listed too, if something waits for it.`,
		Example: "  skelegent operators\n  skelegent operators --wait 2s --json",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().DurationVar(&wait, "wait", 300*time.Millisecond, "how long to wait for another answer")
	addLimit(cmd, &limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if wait <= 0 || wait >= a.flags.timeout {
			return usagef("--wait must be above 0 and below --timeout (%s)", a.flags.timeout)
		}
		if err := checkLimit(limit); err != nil {
			return err
		}
		return a.withConn(cmd, a.flags.timeout, func(ctx context.Context, s *session) error {
			found, err := s.OperatorStats(ctx, wait)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				a.err.print("no operator answers: start a node with `skelegent up`\n")
			}
			list := make([]operatorRow, len(found))
			for i, o := range found {
				list[i] = newOperatorRow(o)
			}
			if list, err = addTasks(ctx, s, list); err != nil {
				return err
			}
			return a.showOperators(cut(a, list, limit))
		})
	}
	return cmd
}

// operatorRow is an operator on a node, for machines.
type operatorRow struct {
	Name        string `json:"name"`
	Node        string `json:"node"`
	ID          string `json:"id"`
	Description string `json:"description"`
	Concurrency int    `json:"concurrency"`
	Running     int64  `json:"running"`
	Waiting     int64  `json:"waiting"`
	Refused     uint64 `json:"refused"`
	Requests    int    `json:"requests"`
	Errors      int    `json:"errors"`
	LastError   string `json:"last_error,omitempty"`
	// MeanMS is the mean time of a request in milliseconds.
	MeanMS   float64           `json:"mean_ms"`
	Metadata map[string]string `json:"metadata"`
	// Tasks are what waits for the operator, on whichever node, nil if nothing does; Timers what is set to come.
	Tasks  *task.Pending `json:"tasks,omitempty"`
	Timers int           `json:"timers,omitempty"`
}

// addTasks adds to the rows what waits for their operators, and a row for each that nobody hosts.
func addTasks(ctx context.Context, s *session, list []operatorRow) ([]operatorRow, error) {
	pending, err := task.New(s.Conn).Pending(ctx)
	if protocol.CodeOf(err) == protocol.CodeUnavailable { // no node was ever here
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	timers, err := inspect.New(s.Conn).Timers(ctx)
	if err != nil {
		return nil, err
	}
	waiting := map[string]*task.Pending{}
	for i := range pending {
		waiting[pending[i].Operator] = &pending[i]
	}
	hosted := map[string]bool{}
	for i := range list {
		r := &list[i]
		hosted[r.Name] = true
		r.Tasks, r.Timers = waiting[r.Name], timers[r.Name]
	}
	for _, p := range pending {
		if !hosted[p.Operator] {
			list = append(list, operatorRow{Name: p.Operator, Description: "nobody hosts it", Tasks: waiting[p.Operator], Timers: timers[p.Operator]})
		}
	}
	return list, nil
}

// tasksText is how many tasks wait, those in work included.
func (r *operatorRow) tasksText() string {
	if r.Tasks == nil {
		return "0"
	}
	return strconv.FormatUint(r.Tasks.Inputs.Messages+r.Tasks.Wakes.Messages, 10)
}

func newOperatorRow(s bus.OperatorService) operatorRow {
	row := operatorRow{
		Name: s.Name, Node: s.Metadata["skelegent.node"], ID: s.ID, Description: s.Description, Metadata: s.Metadata,
	}
	row.Concurrency, _ = strconv.Atoi(s.Metadata["concurrency"]) // 0: not known
	if s.Stats == nil {
		return row
	}
	row.Requests, row.Errors, row.LastError = s.Stats.NumRequests, s.Stats.NumErrors, s.Stats.LastError
	row.MeanMS = float64(s.Stats.AverageProcessingTime) / float64(time.Millisecond)
	_ = json.Unmarshal(s.Stats.Data, &row) // running, waiting, refused; 0: not known
	return row
}

func (a *app) showOperators(list []operatorRow) error {
	if a.flags.json {
		return a.out.json(list)
	}
	if len(list) == 0 {
		return nil
	}
	rows := make([][]string, len(list))
	for i, r := range list {
		mean := "-"
		if r.Requests > 0 {
			mean = time.Duration(r.MeanMS * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
		}
		node := clip(r.Node, 12)
		if node == "" {
			node = "-"
		}
		rows[i] = []string{
			r.Name, node, strconv.FormatInt(r.Running, 10) + "/" + strconv.FormatInt(r.Waiting, 10), strconv.Itoa(r.Concurrency),
			strconv.Itoa(r.Requests), strconv.Itoa(r.Errors), mean, r.tasksText(), strconv.Itoa(r.Timers), clip(r.Description, 60),
		}
	}
	return a.out.table([]string{"NAME", "NODE", "RUN/WAIT", "LIMIT", "REQUESTS", "ERRORS", "MEAN", "TASKS", "TIMERS", "DESCRIPTION"}, rows)
}
