package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Content is what a message says: a text, or a list of blocks. The two are different on the wire and each
// reads back as itself. The zero value is no content at all and fails validation where content is
// required; it is written as an empty text.
type Content struct {
	text   string
	blocks []ContentBlock
	form   contentForm
}

type contentForm uint8

const (
	contentNone contentForm = iota
	contentText
	contentBlocks
)

// TextContent is the text s.
func TextContent(s string) Content { return Content{text: s, form: contentText} }

// BlockContent is a list of blocks, which it takes over.
func BlockContent(blocks ...ContentBlock) Content {
	return Content{blocks: blocks, form: contentBlocks}
}

// IsZero reports whether there is no content, not even an empty text.
func (c Content) IsZero() bool { return c.form == contentNone }

// Blocks returns the blocks, or nil for a text. The slice is shared.
func (c Content) Blocks() []ContentBlock { return c.blocks }

// AsText returns the text, or that of the first text block; false if there is neither.
func (c Content) AsText() (string, bool) {
	if c.form == contentText {
		return c.text, true
	}
	for _, b := range c.blocks {
		if t, ok := b.(TextBlock); ok {
			return t.Text, true
		}
	}
	return "", false
}

// Equal reports whether both are written the same.
func (c Content) Equal(o Content) bool {
	a, errA := Marshal(c)
	b, errB := Marshal(o)
	return errA == nil && errB == nil && c.form == o.form && bytes.Equal(a, b)
}

// MarshalJSON writes a string or an array.
func (c Content) MarshalJSON() ([]byte, error) { return Marshal(c) }

// UnmarshalJSON reads a string or an array of blocks.
func (c *Content) UnmarshalJSON(raw []byte) (err error) {
	if len(raw) > 0 && raw[0] == '[' {
		blocks, err := contentUnion.decodeAll(raw)
		*c = BlockContent(blocks...)
		return err
	}
	if len(raw) == 0 || raw[0] != '"' {
		return fmt.Errorf("expected a string or an array of blocks, got %s", describe(raw))
	}
	text, err := unquote(raw)
	*c = TextContent(text)
	return err
}

// Clone returns a copy whose block list can be changed alone.
func (c Content) Clone() Content {
	c.blocks = slices.Clone(c.blocks)
	return c
}

// ContentBlock is one part of a content. The variants are the types of this package that implement it.
type ContentBlock interface{ contentBlock() }

// TextBlock is a piece of text.
type TextBlock struct {
	Text string `json:"text" wire:"required"`
}

// ImageBlock is an image.
type ImageBlock struct {
	Source    ContentSource `json:"source" wire:"required"`
	MediaType string        `json:"media_type" wire:"required"`
}

// ToolUseBlock is a call that a model asks for.
type ToolUseBlock struct {
	ID    string          `json:"id" wire:"required"`
	Name  string          `json:"name" wire:"required"`
	Input json.RawMessage `json:"input" wire:"required"`
}

// ToolResultBlock is the answer to the call ToolUseID.
type ToolResultBlock struct {
	ToolUseID string `json:"tool_use_id" wire:"required"`
	Content   string `json:"content" wire:"required"`
	IsError   bool   `json:"is_error" wire:"required"`
}

// FileBlock is a file.
type FileBlock struct {
	Source    ContentSource `json:"source" wire:"required"`
	MediaType string        `json:"media_type" wire:"required"`
	Filename  string        `json:"filename,omitempty"`
}

// DataBlock is a JSON value.
type DataBlock struct {
	Data      json.RawMessage `json:"data" wire:"required"`
	MediaType string          `json:"media_type,omitempty"`
}

// ThinkingBlock is a model's reasoning, with the provider's signature where it gave one.
type ThinkingBlock struct {
	Thinking  string `json:"thinking" wire:"required"`
	Signature string `json:"signature,omitempty"`
}

// CustomBlock is a block of a kind of the user's own.
type CustomBlock struct {
	ContentType string          `json:"content_type" wire:"required"`
	Data        json.RawMessage `json:"data" wire:"required"`
}

func (TextBlock) contentBlock()       {}
func (ImageBlock) contentBlock()      {}
func (ToolUseBlock) contentBlock()    {}
func (ToolResultBlock) contentBlock() {}
func (FileBlock) contentBlock()       {}
func (DataBlock) contentBlock()       {}
func (ThinkingBlock) contentBlock()   {}
func (CustomBlock) contentBlock()     {}

var contentUnion = newUnion(
	variant[ContentBlock]{"text", TextBlock{}},
	variant[ContentBlock]{"image", ImageBlock{}},
	variant[ContentBlock]{"tool_use", ToolUseBlock{}},
	variant[ContentBlock]{"tool_result", ToolResultBlock{}},
	variant[ContentBlock]{"custom", CustomBlock{}},
	variant[ContentBlock]{"file", FileBlock{}},
	variant[ContentBlock]{"data", DataBlock{}},
	variant[ContentBlock]{"thinking", ThinkingBlock{}},
)

// MarshalJSON writes the block with its type.
func (b TextBlock) MarshalJSON() ([]byte, error) {
	type plain TextBlock
	return marshalTagged("text", plain(b))
}

// MarshalJSON writes the block with its type.
func (b ImageBlock) MarshalJSON() ([]byte, error) {
	type plain ImageBlock
	return marshalTagged("image", plain(b))
}

// MarshalJSON writes the block with its type.
func (b ToolUseBlock) MarshalJSON() ([]byte, error) {
	type plain ToolUseBlock
	return marshalTagged("tool_use", plain(b))
}

// MarshalJSON writes the block with its type.
func (b ToolResultBlock) MarshalJSON() ([]byte, error) {
	type plain ToolResultBlock
	return marshalTagged("tool_result", plain(b))
}

// MarshalJSON writes the block with its type.
func (b FileBlock) MarshalJSON() ([]byte, error) {
	type plain FileBlock
	return marshalTagged("file", plain(b))
}

// MarshalJSON writes the block with its type.
func (b DataBlock) MarshalJSON() ([]byte, error) {
	type plain DataBlock
	return marshalTagged("data", plain(b))
}

// MarshalJSON writes the block with its type.
func (b ThinkingBlock) MarshalJSON() ([]byte, error) {
	type plain ThinkingBlock
	return marshalTagged("thinking", plain(b))
}

// MarshalJSON writes the block with its type.
func (b CustomBlock) MarshalJSON() ([]byte, error) {
	type plain CustomBlock
	return marshalTagged(customTag, plain(b))
}

// ContentSource is where the bytes of an image or file are: in Data (base64) or at URL.
type ContentSource struct {
	data string
	url  string
	kind string
}

// Base64Source holds the bytes themselves in base64.
func Base64Source(data string) ContentSource { return ContentSource{kind: "base64", data: data} }

// URLSource points at the bytes.
func URLSource(url string) ContentSource { return ContentSource{kind: "url", url: url} }

// Base64 returns the data, and whether the source holds it.
func (s ContentSource) Base64() (string, bool) { return s.data, s.kind == "base64" }

// URL returns the address, and whether the source is one.
func (s ContentSource) URL() (string, bool) { return s.url, s.kind == "url" }

type sourceJSON struct {
	Type string  `json:"type" wire:"required"`
	Data *string `json:"data,omitempty"`
	URL  *string `json:"url,omitempty"`
}

// MarshalJSON writes the source with its type.
func (s ContentSource) MarshalJSON() ([]byte, error) {
	if s.kind == "url" {
		return Marshal(sourceJSON{Type: s.kind, URL: &s.url})
	}
	return Marshal(sourceJSON{Type: "base64", Data: &s.data})
}

// UnmarshalJSON reads either form.
func (s *ContentSource) UnmarshalJSON(raw []byte) error {
	var j sourceJSON
	if err := decodeStruct(raw, &j); err != nil {
		return err
	}
	switch {
	case j.Type == "base64" && j.Data == nil:
		return at("data", errRequired)
	case j.Type == "base64":
		*s = Base64Source(*j.Data)
	case j.Type == "url" && j.URL == nil:
		return at("url", errRequired)
	case j.Type == "url":
		*s = URLSource(*j.URL)
	default:
		return at("type", unknownVariant(j.Type, "base64", "url"))
	}
	return nil
}
