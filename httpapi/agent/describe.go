package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRules bounds the rules that one reply explains.
const maxRules = 6

// rules explain codes. All they say is of this program.
type rules struct {
	LeftOut  int    `json:"left_out,omitempty"`
	Findings []rule `json:"findings"`
}

type rule struct {
	Code        diag.Code     `json:"code"`
	Severity    diag.Severity `json:"severity"`
	Title       string        `json:"title"`
	Requirement string        `json:"requirement,omitempty"`
	Advice      string        `json:"advice,omitempty"`
	Reference   string        `json:"reference,omitempty"`
	Operations  []string      `json:"operations"`
}

func (c *call) explainFinding() (answer, error) {
	code := strings.TrimSpace(c.text("code"))
	found, near := httpapi.Explain(code)
	if len(found) == 0 {
		meant := ""
		if near != "" {
			meant = " Did you mean " + near + "?"
		}
		return nil, argumentf("code: there is no finding %q.%s Codes stand in the findings of a reply.", shown(code), meant)
	}
	r := &rules{LeftOut: max(0, len(found)-maxRules)}
	for _, f := range found[:min(len(found), maxRules)] {
		r.Findings = append(r.Findings, rule{f.Code, f.Severity, f.Title, f.Requirement, f.Advice, f.Reference, f.Operations})
	}
	return r, nil
}

func (r *rules) result(*call) *mcp.CallToolResult {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s (%s): %s\n", f.Code, f.Severity, f.Title)
		for _, part := range [][2]string{
			{"required", f.Requirement}, {"do", f.Advice}, {"written in", f.Reference}, {"found by", diag.Series(f.Operations, 4)},
		} {
			if part[1] != "" {
				fmt.Fprintf(&b, "  %s: %s\n", part[0], part[1])
			}
		}
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "%d more codes begin so.\n", r.LeftOut)
	}
	return ours(b.String(), r)
}

// ours is a result of which nothing is a stranger's.
func ours(text string, structured any) *mcp.CallToolResult {
	if len(text) > maxText {
		const word = "\nLeft out for length; the structured content has all of it."
		text, _ = cut(text, maxText-len(word))
		text += word
	}
	return told(text, structured)
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
	Arguments []fieldInfo     `json:"arguments,omitempty"`
	Example   json.RawMessage `json:"example,omitempty"`
}

type fieldInfo struct {
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	Required  bool     `json:"required"`
	OneOf     string   `json:"one_of,omitempty"`
	Doc       string   `json:"doc,omitempty"`
	Default   string   `json:"default,omitempty"`
	Example   string   `json:"example,omitempty"`
	Enum      []string `json:"enum,omitempty"`
	Minimum   *float64 `json:"minimum,omitempty"`
	Maximum   *float64 `json:"maximum,omitempty"`
	MaxLength int      `json:"max_length,omitempty"`
}

func (c *call) describeOperation() (answer, error) {
	name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(c.text("operation")), httpapi.Prefix), "/")
	if name == "" {
		return &described{diag.Map(httpapi.Endpoints(), short)}, nil
	}
	ep, ok := operation(name)
	if !ok {
		meant := ""
		if near, ok := httpapi.Nearest(name); ok {
			meant = " Did you mean " + near.Name() + "?"
		}
		return nil, argumentf("operation: there is no %q.%s describe_operation without arguments lists all.", shown(name), meant)
	}
	info := short(ep)
	info.About, info.Example, info.Writes = ep.About(), ep.Example(), ep.Hosted() && ep.HasBody()
	for _, p := range ep.Params() {
		info.Arguments = append(info.Arguments, fieldInfo{
			Name: p.Name, Type: typeOf(p), Required: p.Required, OneOf: p.OneOf, Doc: p.Doc, Default: p.Default,
			Example: diag.Clip(p.Example, maxValue), Enum: p.Enum, Minimum: p.Min, Maximum: p.Max, MaxLength: p.MaxLen,
		})
	}
	return &described{[]operationInfo{info}}, nil
}

func short(ep httpapi.Endpoint) operationInfo {
	return operationInfo{Operation: ep.Name(), Summary: ep.Summary(), Credits: ep.Credits, Scope: string(ep.Scope)}
}

func typeOf(p httpapi.Param) string {
	kinds := strings.Join(p.Kinds, " or ")
	switch {
	case p.List:
		return "list of " + kinds
	case p.Bytes:
		return "Base64"
	}
	return kinds
}

func (d *described) result(*call) *mcp.CallToolResult {
	var b strings.Builder
	if len(d.Operations) > 1 {
		b.WriteString("Operations, with their price in credits:\n")
		for _, o := range d.Operations {
			fmt.Fprintf(&b, "%s %d: %s\n", o.Operation, o.Credits, o.Summary)
		}
		return ours(b.String(), d)
	}
	o := d.Operations[0]
	fmt.Fprintf(&b, "%s: %s, for keys with %s. %s%s\nExample of arguments: %s\nArguments:\n", o.Operation,
		diag.Count(o.Credits, "credit"), o.Scope, strings.Join(o.About, " "),
		view.If(o.Writes, " It changes what is published."), diag.Clip(string(o.Example), maxValue))
	for _, a := range o.Arguments {
		fmt.Fprintf(&b, "- %s (%s%s): %s", a.Name, a.Type, view.If(a.Required, ", required"), a.Doc)
		for _, part := range [][2]string{{"exactly one of the group", a.OneOf}, {"one of", strings.Join(a.Enum, " ")}, {"default", a.Default}} {
			if part[1] != "" {
				fmt.Fprintf(&b, "; %s: %s", part[0], part[1])
			}
		}
		b.WriteString("\n")
	}
	return ours(b.String(), d)
}
