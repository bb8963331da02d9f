package skill

import "slices"

// Order returns the names with the skills that they depend on, each before those that need it and once; of the others the order
// stays as it is given. A name that no skill has is left out, and a dependency that would close a circle does not count; both are
// warnings.
func (c *Catalogue) Order(names ...string) ([]string, []Diagnostic) {
	o := ordering{c: c, state: map[string]int{}}
	for _, name := range names {
		if _, ok := c.byName[name]; !ok {
			o.ds = append(o.ds, Diagnostic{
				Severity: SeverityWarning, Rule: RuleDependencyMissing,
				Message: "there is no skill " + quoted(name),
			})
			continue
		}
		o.visit(name)
	}
	return o.order, o.ds
}

const (
	orderBegun = 1
	orderDone  = 2
)

type ordering struct {
	c     *Catalogue
	state map[string]int
	order []string
	ds    []Diagnostic
}

// visit adds what the skill depends on, and then the skill. It goes as deep as there are skills.
func (o *ordering) visit(name string) {
	if o.state[name] == orderDone {
		return
	}
	o.state[name] = orderBegun
	d := o.c.byName[name]
	for _, dep := range slices.Compact(slices.Sorted(slices.Values(d.DependsOn))) {
		_, known := o.c.byName[dep]
		warn := Diagnostic{File: d.Location, Severity: SeverityWarning}
		switch {
		case !known:
			warn.Rule, warn.Message = RuleDependencyMissing, "the skill "+quoted(name)+" depends on "+quoted(dep)+", which is not there"
			o.ds = append(o.ds, warn)
		case o.state[dep] == orderBegun:
			warn.Rule, warn.Message = RuleDependencyCycle, "the skill "+quoted(name)+" depends on "+quoted(dep)+" in a circle"
			o.ds = append(o.ds, warn)
		default:
			o.visit(dep)
		}
	}
	o.state[name] = orderDone
	o.order = append(o.order, name)
}
