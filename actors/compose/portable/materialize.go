package portable

import (
	"github.com/skelegent/skelegent-go/actors/compose"
)

// Materialize returns a new set of the tools that the agent has:
//
//   - its local tools, those of host;
//   - for each delegate a tool that asks the executor which delegates has under its ExecutorKey, whatever its kind; where there
//     is none, a delegate of this process is an error, and any other is compose.Stub.
//
// A tool that host does not have or does not let be seen is a *MissingHostTool, and an executor that must be there and is not
// a *MissingDelegateExecutor. Of two tools with one name the later counts, delegates after tools. Nothing is started, so
// what MCP servers have must be among the tools of host. host and delegates may be nil, which is empty.
func (m *Manifest) Materialize(host *compose.Tools, delegates *compose.Delegates) (*compose.Tools, error) {
	made, err := compose.NewTools()
	if err != nil {
		return nil, err
	}
	for _, t := range m.Tools {
		if host == nil {
			return nil, &MissingHostTool{t.Name}
		}
		x, err := host.Get(t.Name)
		if err != nil {
			return nil, &MissingHostTool{t.Name}
		}
		if err := made.Register(x); err != nil {
			return nil, err
		}
	}
	for _, d := range m.Delegates {
		e, err := d.executor(delegates)
		if err != nil {
			return nil, err
		}
		x, err := compose.DelegateTool(d.Name, d.Description, e)
		if err != nil {
			return nil, err
		}
		if err := made.Register(x); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// executor is who does the work.
func (d Delegate) executor(registered *compose.Delegates) (compose.Executor, error) {
	if registered != nil {
		if e, ok := registered.Get(d.ExecutorKey()); ok {
			return e, nil
		}
	}
	if d.Kind == InProcess {
		return nil, &MissingDelegateExecutor{d.ExecutorKey()}
	}
	return compose.Stub(d.Name), nil
}
