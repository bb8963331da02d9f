package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/skelegent/skelegent-go/protocol"
)

const pdf = "application/pdf"

// encodeBlock returns the form of a block, nil of one that is not sent: an empty text, and thinking that no provider has
// signed, which is refused. The results of tools are not its business.
func encodeBlock(b protocol.ContentBlock, assistant bool) (*sdk.ContentBlockParamUnion, error) {
	var out sdk.ContentBlockParamUnion
	switch b := b.(type) {
	case protocol.TextBlock:
		return textBlock(b.Text), nil
	case protocol.DataBlock:
		return textBlock(string(b.Data)), nil
	case protocol.ThinkingBlock:
		if !assistant || b.Signature == "" || b.Signature[0] == '{' { // unsigned, or by package responses: it would be refused
			return nil, nil //nolint:nilnil // left out
		}
		out = sdk.NewThinkingBlock(b.Signature, b.Thinking)
	case protocol.ToolUseBlock:
		if !assistant {
			return nil, protocol.ErrInvalidRequest("only the assistant calls tools", 0)
		}
		out = sdk.NewToolUseBlock(b.ID, toolInput(b.Input), b.Name)
	case protocol.CustomBlock:
		return customBlock(b)
	case protocol.ImageBlock, protocol.FileBlock:
		if assistant {
			return nil, protocol.ErrInvalidRequest("an assistant's message cannot have images or files", 0)
		}
		return mediaBlock(b)
	default:
		return nil, protocol.ErrInvalidRequest("content of an unknown type cannot be sent", 0)
	}
	return &out, nil
}

func textBlock(text string) *sdk.ContentBlockParamUnion {
	if blank(text) {
		return nil
	}
	b := sdk.NewTextBlock(text)
	return &b
}

// customBlock takes back what an answer had and we do not know, as it was.
func customBlock(b protocol.CustomBlock) (*sdk.ContentBlockParamUnion, error) {
	kind, ours := strings.CutPrefix(b.ContentType, CustomPrefix)
	if !ours {
		return nil, protocol.ErrInvalidRequest("content of a custom type cannot be sent", 0)
	}
	var redacted struct {
		Data string `json:"data"`
	}
	out := param.Override[sdk.ContentBlockParamUnion](b.Data)
	if kind == "redacted_thinking" && json.Unmarshal(b.Data, &redacted) == nil {
		out = sdk.NewRedactedThinkingBlock(redacted.Data)
	}
	return &out, nil
}

// toolInput returns the input of a call as an object: others are refused. What a model wrote that was no JSON goes back as
// Anthropic advises.
func toolInput(input json.RawMessage) json.RawMessage {
	input = bytes.TrimSpace(input)
	switch {
	case len(input) == 0:
		return json.RawMessage(`{}`)
	case input[0] == '{' && json.Valid(input):
		return input
	}
	written := string(input)
	var text string
	if json.Unmarshal(input, &text) == nil {
		written = text
	}
	raw, err := protocol.Marshal(map[string]string{"INVALID_JSON": written})
	if err != nil { // strings are always JSON
		return json.RawMessage(`{}`)
	}
	return raw
}

// mediaBlock returns the form of an image or a file.
func mediaBlock(b protocol.ContentBlock) (*sdk.ContentBlockParamUnion, error) {
	var source protocol.ContentSource
	var mediaType, title string
	switch b := b.(type) {
	case protocol.ImageBlock:
		source, mediaType = b.Source, b.MediaType
		if mediaType == "" {
			mediaType = "image/"
		}
	case protocol.FileBlock:
		source, mediaType, title = b.Source, b.MediaType, b.Filename
	}
	if parsed, _, err := mime.ParseMediaType(mediaType); err == nil {
		mediaType = parsed
	}
	data, _ := source.Base64()
	address, isAddress := source.URL()
	var out sdk.ContentBlockParamUnion
	switch image := strings.HasPrefix(mediaType, "image/"); {
	case image && isAddress:
		out = sdk.NewImageBlock(sdk.URLImageSourceParam{URL: address})
	case image:
		out = sdk.NewImageBlockBase64(mediaType, data)
	case isAddress && (mediaType == pdf || mediaType == ""):
		out = sdk.NewDocumentBlock(sdk.URLPDFSourceParam{URL: address})
	case mediaType == pdf:
		out = sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: data})
	case isAddress:
		return nil, protocol.ErrInvalidRequest("a file other than a PDF has to be sent itself, not by its address", 0)
	default:
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil || !utf8.Valid(text) || blank(string(text)) {
			return nil, protocol.ErrInvalidRequest("a file is neither an image nor a PDF nor text", 0)
		}
		out = sdk.NewDocumentBlock(sdk.PlainTextSourceParam{Data: string(text)})
	}
	if out.OfDocument != nil && title != "" {
		out.OfDocument.Title = sdk.String(title)
	}
	return &out, nil
}
