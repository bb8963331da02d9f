package anthropic

import sdk "github.com/anthropics/anthropic-sdk-go"

// maxMarks is how many cache marks the protocol allows in a request.
const maxMarks = 4

// mark has the provider cache the request up to its last tool, its last system text and its last message: each mark covers
// all that comes before it, so a conversation that grew is found up to the last mark of the call before. Marks that tools
// brought with them stay, the last ones if there are too many.
func mark(params *sdk.MessageNewParams, cache bool) {
	left := maxMarks
	if cache {
		if last := lastMarkable(params.Messages); last != nil {
			*last = sdk.NewCacheControlEphemeralParam()
			left--
		}
		if n := len(params.System); n > 0 {
			params.System[n-1].CacheControl = sdk.NewCacheControlEphemeralParam()
			left--
		}
		if n := len(params.Tools); n > 0 && !marked(params.Tools[n-1]) {
			params.Tools[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
		}
	}
	for i := len(params.Tools) - 1; i >= 0; i-- {
		switch {
		case !marked(params.Tools[i]):
		case left > 0:
			left--
		default:
			params.Tools[i].OfTool.CacheControl = sdk.CacheControlEphemeralParam{}
		}
	}
}

func marked(t sdk.ToolUnionParam) bool { return t.OfTool.CacheControl.Type != "" }

// lastMarkable returns the place for the mark of the last block of the last message that can have one: thinking cannot.
func lastMarkable(messages []sdk.MessageParam) *sdk.CacheControlEphemeralParam {
	blocks := messages[len(messages)-1].Content
	for i := len(blocks) - 1; i >= 0; i-- {
		if c := blocks[i].GetCacheControl(); c != nil {
			return c
		}
	}
	return nil
}
