package responses

import (
	"encoding/json"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/protocol"
)

// response is what counts of an answer: the whole one, or that of the last event of a stream.
type response struct {
	Status            goopenai.ResponseStatus             `json:"status"`
	Model             string                              `json:"model"`
	Error             json.RawMessage                     `json:"error"`
	IncompleteDetails *goopenai.ResponseIncompleteDetails `json:"incomplete_details"`
	Output            []item                              `json:"output"`
	Usage             *goopenai.ResponseUsage             `json:"usage"`
	ServiceTier       string                              `json:"service_tier"`
}

// item is an item of the output: a message, a call or reasoning. Items of other types have nothing for us.
type item struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	// Content is that of a message, or the reasoning itself of models that show it.
	Content          []part `json:"content"`
	CallID           string `json:"call_id"`
	Name             string `json:"name"`
	Arguments        string `json:"arguments"`
	Summary          []part `json:"summary"`
	EncryptedContent string `json:"encrypted_content"`
}

type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal,omitempty"`
}

// event is what counts of an event of a stream.
type event struct {
	OutputIndex  int      `json:"output_index"` // of the item
	SummaryIndex int      `json:"summary_index"`
	ContentIndex int      `json:"content_index"`
	Delta        string   `json:"delta"`
	Item         item     `json:"item"`
	Response     response `json:"response"`
}

// text is all that the item says.
func (it item) text() string {
	switch it.Type {
	case itemCall:
		return it.Arguments
	case itemMessage:
		var b strings.Builder
		for _, p := range it.Content {
			b.WriteString(p.Text + p.Refusal)
		}
		return b.String()
	}
	var texts []string
	for _, parts := range [][]part{it.Summary, it.Content} {
		for _, p := range parts {
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	return strings.Join(texts, paragraph)
}

// paragraph stands between the parts of reasoning.
const paragraph = "\n\n"

// reasoning is an item as it is sent back.
type reasoning struct {
	Type             string `json:"type"`
	ID               string `json:"id,omitempty"`
	Summary          []part `json:"summary"`
	EncryptedContent string `json:"encrypted_content"`
}

// signature is what a ThinkingBlock keeps of an item of reasoning.
type signature struct {
	Reasoning *reasoning `json:"responses_reasoning"`
	// Call is the id of the call that it led to; empty if it led to a text. A message has its calls behind its texts, so
	// the order of the items is lost without it.
	Call string `json:"call,omitempty"`
}

func (s signature) String() string {
	raw, err := protocol.Marshal(s)
	if err != nil { // has only texts
		return ""
	}
	return string(raw)
}

// readSignature returns false for signatures of other providers.
func readSignature(text string) (signature, bool) {
	var s signature
	if json.Unmarshal([]byte(text), &s) != nil || s.Reasoning == nil || s.Reasoning.EncryptedContent == "" {
		return signature{}, false
	}
	s.Reasoning.Type = itemReasoning
	if s.Reasoning.Summary == nil {
		s.Reasoning.Summary = []part{}
	}
	return s, true
}
