package tokens

import "strings"

// lookup finds what a table has for the longest beginning of a model's name that ends where a part of the name does, so
// that gpt-4 is not found for gpt-4o. What stands before the name is left out: openai:, ft:, openai/.
func lookup[V any](table map[string]V, model string) (V, bool) {
	for name := bare(model); ; {
		if v, ok := table[name]; ok {
			return v, true
		}
		end := strings.LastIndexAny(name, "-.:@")
		if end < 0 {
			var none V
			return none, false
		}
		name = name[:end]
	}
}

// maxName is as much of a name as is looked at; names come from inputs.
const maxName = 128

func bare(model string) string {
	model = model[:min(len(model), maxName)]
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, kind := range []string{"openai:", "anthropic:", "ollama:", "ft:"} {
		model = strings.TrimPrefix(model, kind)
	}
	return model
}
