package trust

import (
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/protocol"
)

// Check says whether what a skill brings may be run: nil for the skills of the user and of directories that he named, and for
// others, those without a source too, if their directory is trusted. The error is of code permission_denied and says which command
// trusts the directory; or one of Open.
func (s *Store) Check(d skill.Descriptor) error {
	if d.Source == skill.SourceUser || d.Source == skill.SourceCustom {
		return nil
	}
	ok, err := s.trusted(d.Dir)
	switch {
	case err != nil:
		return err
	case ok:
		return nil
	case d.Dir == "":
		return protocol.NewError(protocol.CodePermissionDenied,
			"the skill "+quoted(d.Name)+" is in no directory that could be trusted, so nothing of it is run")
	}
	return protocol.NewError(protocol.CodePermissionDenied,
		"the skill "+quoted(d.Name)+" is in a directory that is not trusted; read what it runs, and then run `skelegent skills trust "+
			word(d.Dir)+"`")
}

// plainWord is what no shell reads as something else.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9/._+=:,@%-]+$`)

// word is a path as a shell reads it back, so that the name of a directory is no command for who copies the line; DIR if it cannot
// be shown as it is.
func word(dir string) string {
	switch {
	case plainWord.MatchString(dir) && len(dir) <= MaxDir/4:
		return dir
	case len(dir) > MaxDir/4, !utf8.ValidString(dir), strings.ContainsFunc(dir, unseen), strings.Contains(dir, "  "), strings.Contains(dir, "`"):
		return "DIR"
	}
	return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
}

// unseen reports whether r is a character that is not seen, or moves what is.
func unseen(r rune) bool {
	return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// quoted is a name from outside, short and on one line.
func quoted(name string) string {
	const most = 300
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	raw, _ := json.Marshal(strings.Map(func(r rune) rune { // a string always marshals
		if unseen(r) {
			return -1
		}
		return r
	}, name))
	return string(raw)
}

func invalid(text string) *protocol.Error {
	return protocol.NewError(protocol.CodeInvalidInput, "trust: "+text)
}

// fileError says what could not be done with the file.
func fileError(what, path string, err error) error {
	var coded *protocol.Error
	if errors.As(err, &coded) {
		return err
	}
	code := protocol.CodeUnavailable
	if errors.Is(err, fs.ErrPermission) {
		code = protocol.CodePermissionDenied
	}
	var p *fs.PathError
	reason := err.Error()
	if errors.As(err, &p) {
		reason = p.Err.Error()
	}
	return protocol.NewError(code, "trust: "+what+" "+quoted(path)+": "+reason).Because(err)
}
