package middleware

import "github.com/skelegent/skelegent-go/protocol"

// Size returns how many bytes the caller's part of a request has, before any encoding: texts, JSON, base64 and addresses.
func Size(req protocol.InferRequest) int {
	n := len(req.Model) + len(req.System)
	for _, m := range req.Messages {
		n += messageSize(m)
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema) + len(t.Extra)
	}
	if f, ok := req.ResponseFormat.(protocol.SchemaFormat); ok {
		n += len(f.Name) + len(f.Schema)
	}
	for name, value := range req.ProviderOptions {
		n += len(name) + len(value)
	}
	return n
}

func messageSize(m protocol.Message) int {
	name, call, _ := m.Role.Tool()
	n := len(name) + len(call)
	if m.Content.Blocks() == nil {
		text, _ := m.Content.AsText()
		return n + len(text)
	}
	for _, b := range m.Content.Blocks() {
		n += blockSize(b)
	}
	return n
}

func blockSize(b protocol.ContentBlock) int {
	switch b := b.(type) {
	case protocol.TextBlock:
		return len(b.Text)
	case protocol.ThinkingBlock:
		return len(b.Thinking) + len(b.Signature)
	case protocol.ToolUseBlock:
		return len(b.ID) + len(b.Name) + len(b.Input)
	case protocol.ToolResultBlock:
		return len(b.ToolUseID) + len(b.Content)
	case protocol.ImageBlock:
		return len(b.MediaType) + sourceSize(b.Source)
	case protocol.FileBlock:
		return len(b.MediaType) + len(b.Filename) + sourceSize(b.Source)
	case protocol.DataBlock:
		return len(b.Data)
	case protocol.CustomBlock:
		return len(b.ContentType) + len(b.Data)
	}
	return 0
}

func sourceSize(s protocol.ContentSource) int {
	data, _ := s.Base64()
	url, _ := s.URL()
	return len(data) + len(url)
}
