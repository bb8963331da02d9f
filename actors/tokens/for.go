package tokens

import (
	"sync"

	"github.com/tiktoken-go/tokenizer"
	"github.com/tiktoken-go/tokenizer/codec"
)

// For returns the counter for a model: an exact one for those of OpenAI, else an Estimate. It knows names as the router
// and other services write them: openai:gpt-4o, openai/gpt-4o, ft:gpt-4o-mini:acme::1, gpt-4o-2024-08-06.
func For(model string) Counter {
	e, ok := lookup(encodings, model)
	if !ok {
		return Estimate{}
	}
	return bpe{e}
}

// encoding is the name of a vocabulary.
type encoding string

const (
	o200k encoding = "o200k_base"
	c100k encoding = "cl100k_base"
)

// loaded are the vocabularies, each loaded once and shared. Nothing that is set up at the start of the program may lead to
// them, or the linker keeps them for programs that never count with them.
var loaded struct {
	o200k, c100k           sync.Once
	o200kCodec, c100kCodec tokenizer.Codec
}

func (e encoding) codec() tokenizer.Codec {
	if e == c100k {
		loaded.c100k.Do(func() { loaded.c100kCodec = codec.NewCl100kBase() })
		return loaded.c100kCodec
	}
	loaded.o200k.Do(func() { loaded.o200kCodec = codec.NewO200kBase() })
	return loaded.o200kCodec
}

// encodings are by the beginnings of models' names: see lookup.
var encodings = map[string]encoding{
	"chatgpt-4o":             o200k,
	"codex-mini":             o200k,
	"gpt-3.5":                c100k,
	"gpt-35":                 c100k,
	"gpt-4":                  c100k,
	"gpt-4.1":                o200k,
	"gpt-4.5":                o200k,
	"gpt-4o":                 o200k,
	"gpt-5":                  o200k,
	"gpt-oss":                o200k,
	"o1":                     o200k,
	"o3":                     o200k,
	"o4":                     o200k,
	"text-embedding-3":       c100k,
	"text-embedding-ada-002": c100k,
}
