package responses

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
)

var dialect = exchange.Dialect{Answer: "a response", Read: readError}

// readError reads {"error": {"code", "message"}}, and without the outer object what error events and failed responses have.
func readError(data []byte) exchange.Report {
	r := exchange.ReadReport(data)
	var flat struct {
		Code any `json:"code"`
	}
	if r.Code == "" && json.Unmarshal(data, &flat) == nil && flat.Code != nil {
		r = exchange.NewReport(r.Message, fmt.Sprint(flat.Code), r.Type)
	}
	if r.Class == exchange.Unknown {
		r.Class = classOf(r)
	}
	return r
}

// classOf knows the codes of failed responses, which come with status 200. Those of the server's own failures are left as
// unknown, which is transient.
func classOf(r exchange.Report) exchange.Class {
	if strings.Contains(r.Message, "usage policy") || strings.HasSuffix(r.Code, "_policy") {
		return exchange.Blocked
	}
	switch prefix, _, _ := strings.Cut(r.Code, "_"); prefix {
	case "invalid", "image", "unsupported", "empty", "context":
		return exchange.Invalid
	}
	return exchange.Unknown
}
