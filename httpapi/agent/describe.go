package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRules bounds the rules that one reply explains.
const maxRules = 6

// rules explain codes. All they say is of this program.
type rules struct {
	LeftOut  int                `json:"left_out,omitempty"` // how many more codes begin so
	Findings []httpapi.ToldRule `json:"findings"`
}

func (c *call) explainFinding() (answer, error) {
	code := strings.TrimSpace(c.text("code"))
	found, near := httpapi.Explain(code)
	if len(found) == 0 {
		return nil, argumentf("code: there is no finding %q.%s Findings of a reply have codes.", shown(code), meant(near))
	}
	return &rules{max(0, len(found)-maxRules), found[:min(len(found), maxRules)]}, nil
}

func (r *rules) result(*call) *mcp.CallToolResult { return told(asJSON(r), r) }

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // what tables of this program hold
	}
	return string(text)
}

// described are operations: all of them in short, or one.
type described struct {
	Operations []operationInfo `json:"operations"`
}

type operationInfo struct {
	Operation string          `json:"operation"`
	Summary   string          `json:"summary"`
	Credits   int64           `json:"credits"`
	Scope     string          `json:"scope"`
	About     []string        `json:"about,omitempty"`
	Writes    bool            `json:"writes,omitempty"`
	Example   json.RawMessage `json:"example,omitempty"`
	Arguments []parameter     `json:"arguments,omitempty"`
}

// A parameter is a [httpapi.Param] in JSON.
type parameter struct {
	Name     string        `json:"name"`
	In       httpapi.Place `json:"-"`
	Kinds    []string      `json:"types"`
	List     bool          `json:"list,omitempty"`
	Required bool          `json:"required"`
	OneOf    string        `json:"one_of,omitempty"`
	Doc      string        `json:"doc,omitempty"`
	Default  string        `json:"default,omitempty"`
	Example  string        `json:"-"` // which that of the whole shows
	Enum     []string      `json:"enum,omitempty"`
	Min      *float64      `json:"minimum,omitempty"`
	Max      *float64      `json:"maximum,omitempty"`
	MaxLen   int           `json:"max_length,omitempty"`
	Bytes    bool          `json:"base64,omitempty"`
}

func (c *call) describeOperation() (answer, error) {
	name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(c.text("operation")), httpapi.Prefix), "/")
	if name == "" {
		return &described{diag.Map(httpapi.Endpoints(), short)}, nil
	}
	ep, ok := find(name)
	if !ok {
		near, _ := httpapi.Nearest(name)
		return nil, argumentf("operation: there is no %q.%s describe_operation without arguments lists all.",
			shown(name), meant(near.Name()))
	}
	info := short(ep)
	info.About, info.Example, info.Writes = ep.About(), ep.Example(), ep.Hosted() && ep.HasBody()
	info.Arguments = diag.Map(ep.Params(), func(p httpapi.Param) parameter { return parameter(p) })
	return &described{[]operationInfo{info}}, nil
}

func short(ep httpapi.Endpoint) operationInfo {
	return operationInfo{Operation: ep.Name(), Summary: ep.Summary(), Credits: ep.Credits, Scope: string(ep.Scope)}
}

func (d *described) result(*call) *mcp.CallToolResult {
	if len(d.Operations) == 1 {
		return told(asJSON(d), d)
	}
	var b strings.Builder
	b.WriteString("Operations, with their price in credits:\n")
	for _, o := range d.Operations {
		fmt.Fprintf(&b, "%s %d: %s\n", o.Operation, o.Credits, o.Summary)
	}
	return told(b.String(), d)
}
