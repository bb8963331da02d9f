package skill

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxCatalogueText is how many bytes the text of a catalogue can have.
const maxCatalogueText = 256 << 10

const catalogueIntro = "Skills give specialised instructions for some tasks. When a task matches the description of one, " +
	"call activate_skill with its name before you go on.\n"

// Catalogue is the skills that were found. It does not change, and is safe for concurrent use.
type Catalogue struct {
	byName map[string]Descriptor
	names  []string // sorted
	ds     []Diagnostic
}

func newCatalogue() *Catalogue { return &Catalogue{byName: map[string]Descriptor{}} }

// NewCatalogue returns a catalogue of skills that were found in another way, such as those of a server. Of two with one name the
// first is kept, and a diagnostic says so; one without a name is left out.
func NewCatalogue(skills ...Descriptor) *Catalogue {
	c := newCatalogue()
	for _, d := range skills {
		if _, taken := c.byName[d.Name]; taken || d.Name == "" {
			c.note(Diagnostic{
				File: d.Location, Severity: SeverityWarning, Rule: RuleShadowed,
				Message: "the skill " + quoted(d.Name) + " is hidden by another, or has no name",
			})
			continue
		}
		c.add(d.clone())
	}
	return c
}

func (c *Catalogue) add(d Descriptor) {
	c.byName[d.Name] = d
	i, _ := slices.BinarySearch(c.names, d.Name)
	c.names = slices.Insert(c.names, i, d.Name)
}

func (c *Catalogue) note(ds ...Diagnostic) {
	c.ds = append(c.ds, ds[:min(len(ds), maxAllDiagnostics-len(c.ds))]...)
}

// Len returns how many skills there are.
func (c *Catalogue) Len() int { return len(c.names) }

// Names returns their names, sorted.
func (c *Catalogue) Names() []string { return slices.Clone(c.names) }

// Get returns a skill by its name.
func (c *Catalogue) Get(name string) (Descriptor, bool) {
	d, ok := c.byName[name]
	return d.clone(), ok
}

// List returns the skills, sorted by name.
func (c *Catalogue) List() []Descriptor {
	all := make([]Descriptor, 0, len(c.names))
	for _, name := range c.names {
		all = append(all, c.byName[name].clone())
	}
	return all
}

// Diagnostics returns what was wrong with the skills that were found, and why some are not in the catalogue.
func (c *Catalogue) Diagnostics() []Diagnostic { return slices.Clone(c.ds) }

// Text returns what a model is told of the skills before it activates one: a line for each, sorted by name. It is empty if there
// are none. Names and descriptions cannot make lines of their own, or look like an activated skill; long descriptions are cut. A
// text of more than 256 KiB ends with how many skills are not in it.
func (c *Catalogue) Text() string {
	if len(c.names) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(catalogueIntro + "\n")
	for i, name := range c.names {
		line := c.byName[name].CatalogueLine() + "\n"
		if b.Len()+len(line) > maxCatalogueText {
			fmt.Fprintf(&b, "(%d more skills are not listed)\n", len(c.names)-i)
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// CatalogueLine returns the skill's line of Text: "- name: description", and the globs that it is for.
func (d Descriptor) CatalogueLine() string {
	text, cut := cutRunes(oneLine(d.Description), MaxDescription)
	if cut {
		text += "..."
	}
	line := "- " + oneLine(d.Name) + ": " + text
	if len(d.Paths) > 0 {
		line += " [activates for: " + oneLine(strings.Join(d.Paths, ", ")) + "]"
	}
	return neutral(line)
}

// Merge returns a catalogue of the skills of c and those of others that c has not, and the names that are new, sorted. Nothing of
// c changes, so what was activated stays so. A skill that c has under the same name stays as it is, with a diagnostic where it is
// another one.
func (c *Catalogue) Merge(other *Catalogue) (*Catalogue, []string) { return c.merge(other, nil) }

// merge leaves out what has one of those names, too.
func (c *Catalogue) merge(other *Catalogue, not map[string]Info) (*Catalogue, []string) {
	m := &Catalogue{byName: maps.Clone(c.byName), names: slices.Clone(c.names)}
	m.note(other.ds...)
	hidden := func(d Descriptor, by string) {
		m.note(Diagnostic{
			File: d.Location, Severity: SeverityWarning, Rule: RuleShadowed,
			Message: "the skill " + quoted(d.Name) + " is hidden by " + by,
		})
	}
	var added []string
	for _, name := range other.names {
		d := other.byName[name]
		mine, taken := m.byName[name]
		_, code := not[name]
		switch {
		case code:
			hidden(d, "one of the program")
		case !taken:
			m.add(d)
			added = append(added, name)
		case mine.Location != d.Location || mine.Source != d.Source:
			hidden(d, oneLine(mine.Location))
		}
	}
	return m, added
}
