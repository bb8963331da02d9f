package tokens

// Window returns how many tokens a model can hold, input and answer together, false if that is not known. It is the model's
// own limit: a server may allow less, as Ollama does unless told otherwise, and an account more.
func Window(model string) (n int, ok bool) { return lookup(windows, model) }

// windows are by the beginnings of models' names, as their makers state them: see lookup.
var windows = map[string]int{
	"chatgpt-4o":     128_000,
	"claude":         200_000,
	"claude-2.0":     100_000,
	"claude-instant": 100_000,
	"codex-mini":     200_000,
	"gemini-2.0":     1_048_576,
	"gemini-2.5":     1_048_576,
	"gpt-3.5-turbo":  16_385,
	"gpt-4":          8_192,
	"gpt-4-0125":     128_000,
	"gpt-4-1106":     128_000,
	"gpt-4-32k":      32_768,
	"gpt-4-turbo":    128_000,
	"gpt-4-vision":   128_000,
	"gpt-4.1":        1_047_576,
	"gpt-4.5":        128_000,
	"gpt-4o":         128_000,
	"gpt-5":          400_000,
	"gpt-5-chat":     128_000,
	"gpt-oss":        131_072,
	"llama3":         8_192,
	"llama3.1":       131_072,
	"llama3.2":       131_072,
	"llama3.3":       131_072,
	"o1":             200_000,
	"o1-mini":        128_000,
	"o1-preview":     128_000,
	"o3":             200_000,
	"o4-mini":        200_000,
}
