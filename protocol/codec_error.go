package protocol

import (
	"errors"
	"fmt"
	"strings"
)

var (
	errRequired  = errors.New("is required")
	errTwice     = errors.New("given twice")
	errNull      = errors.New("must not be null")
	errTruncated = errors.New("unexpected end of JSON")
)

func invalid(field string, cause error) *Error {
	e := &Error{Code: CodeInvalidInput, Message: "invalid input: " + cause.Error(), cause: cause}
	if field != "" {
		e.Message = fmt.Sprintf("invalid input: field %s: %v", field, cause)
		e.Details = map[string]string{"field": field}
	}
	return e
}

// fieldError places an error at a path such as config.max_turns or effects[2].scope.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// maxPath bounds the paths in messages: names of members are the sender's.
const maxPath = 200

func at(name string, err error) error {
	if err == nil {
		return nil
	}
	path := name
	var inner *fieldError
	if errors.As(err, &inner) {
		sep := "."
		if strings.HasPrefix(inner.path, "[") {
			sep = ""
		}
		path, err = name+sep+inner.path, inner.err
	}
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "") + "..."
	}
	return &fieldError{path: path, err: err}
}

func fieldOf(err error) (string, error) {
	var fe *fieldError
	if errors.As(err, &fe) {
		return fe.path, fe.err
	}
	return "", err
}

func unknownVariant(got string, known ...string) error {
	return fmt.Errorf("unknown variant %.80q, expected one of %s", got, strings.Join(known, ", "))
}
