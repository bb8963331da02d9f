package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

type readInput struct {
	Path   string `json:"path" jsonschema:"the file, relative to the working directory"`
	Offset int    `json:"offset,omitempty" jsonschema:"the first line to read; lines are counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to read at most; all that fit if not given"`
}

type readResult struct {
	Path       string `json:"path"`
	Text       string `json:"text"`
	FirstLine  int    `json:"first_line"`
	Lines      int    `json:"lines"` // in Text
	TotalLines int    `json:"total_lines"`
	Bytes      int    `json:"bytes"`  // of the file
	SHA256     string `json:"sha256"` // of the file
	// NextOffset is the line to read on from; 0 at the end of the file.
	NextOffset int `json:"next_offset,omitempty"`
	// LineCut says that the one line in Text is longer than what is returned at a time; its rest is not shown.
	LineCut bool `json:"line_cut,omitempty"`
}

func (f *FileSystem) read(ctx context.Context, in readInput) (readResult, error) {
	if in.Offset < 0 || in.Limit < 0 {
		return readResult{}, protocol.ErrToolInput("offset and limit must not be negative")
	}
	name, err := clean(in.Path)
	if err != nil {
		return readResult{}, err
	}
	root, err := f.open(ctx)
	if err != nil {
		return readResult{}, err
	}
	defer root.Close() //nolint:errcheck // only read
	data, err := f.load(root, name, in.Path)
	if err != nil {
		return readResult{}, err
	}
	if !isText(data) {
		return readResult{}, ofKind(KindNotText, protocol.CodeInvalidInput,
			quoted(in.Path)+" is not text in UTF-8, it seems to be a binary file")
	}
	r := cutLines(data, max(1, in.Offset), in.Limit, f.config.MaxRead)
	r.Path, r.Bytes, r.SHA256 = in.Path, len(data), sum(data)
	return r, nil
}

// cutLines returns limit lines from the first on, or all if 0, as many as fit into size bytes. Lines keep their ends.
func cutLines(data []byte, first, limit, size int) readResult {
	r := readResult{FirstLine: first}
	taken := 0
	var text []byte
	for full := false; len(data) > 0; {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		line := data[:end]
		data = data[end:]
		r.TotalLines++
		if r.TotalLines < first || full {
			continue
		}
		switch {
		case limit > 0 && taken == limit: // the line after the last one
		case len(text)+len(line) <= size:
			text = append(text, line...)
			taken++
			continue
		case taken == 0:
			text, r.LineCut, full = append(text, line[:whole(line, size)]...), true, true
			if taken++; len(data) > 0 {
				r.NextOffset = r.TotalLines + 1
			}
			continue
		}
		full, r.NextOffset = true, r.TotalLines
	}
	r.Text, r.Lines = string(text), taken
	return r
}

// whole is the largest number of bytes, up to n, after which a character of line ends.
func whole(line []byte, n int) int {
	for n > 0 && !utf8.RuneStart(line[n]) {
		n--
	}
	return n
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
