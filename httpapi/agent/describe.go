package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRules bounds the rules that one reply explains.
const maxRules = 6

// explanation explains codes. Its text is entirely this program's own.
type explanation struct {
	LeftOut  int               `json:"left_out,omitempty"` // how many more codes begin so
	Findings []httpapi.RuleDoc `json:"findings"`
}

func (c *call) explainFinding() (*mcp.CallToolResult, error) {
	code := strings.TrimSpace(c.text("code"))
	found, near := c.tool.table.Explain(code)
	if len(found) == 0 {
		return nil, argumentf("code: there is no finding %q.%s Findings of a reply have codes.",
			clipPrintable(code), suggestion(near))
	}
	r := explanation{Findings: found[:min(len(found), maxRules)]}
	for {
		r.LeftOut = len(found) - len(r.Findings)
		if result := textResult(asJSON(r)); len(r.Findings) == 1 || fits(result) {
			return result, nil
		}
		r.Findings = r.Findings[:len(r.Findings)-1]
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // what tables of this program hold
	}
	return string(text)
}

// operationList are operations: all of them in short, or one.
type operationList struct {
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
	Arguments []httpapi.Param `json:"arguments,omitempty"`
}

func (c *call) describeOperation() (*mcp.CallToolResult, error) {
	name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(c.text("operation")), httpapi.Prefix), "/")
	if name == "" {
		var b strings.Builder
		b.WriteString("Operations, with their price in credits:\n")
		for _, ep := range c.tool.table {
			fmt.Fprintf(&b, "%s %d: %s\n", ep.Name(), ep.Credits, ep.Summary())
		}
		return textResult(b.String()), nil
	}
	ep, ok := c.tool.table.ByName(name)
	if !ok {
		near, _ := c.tool.table.Nearest(name)
		return nil, argumentf("operation: there is no %q.%s describe_operation without arguments lists all.",
			clipPrintable(name), suggestion(near.Name()))
	}
	info := summarize(ep)
	info.About, info.Example, info.Arguments = ep.Description(), ep.Example(), ep.Params()
	info.Writes = ep.Hosted() && ep.HasBody()
	list := operationList{[]operationInfo{info}}
	return textResult(asJSON(list)), nil
}

func summarize(ep httpapi.Endpoint) operationInfo {
	return operationInfo{Operation: ep.Name(), Summary: ep.Summary(), Credits: ep.Credits, Scope: string(ep.Scope)}
}
