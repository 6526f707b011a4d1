package notify

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"time"
)

// The limits of the services. All our texts stay below them; names chosen by customers are cut well before.
const (
	maxSlackHeader = 150 // characters of a header block
	maxSlackFields = 10  // fields of a section block
)

// slackEscaper escapes the special characters of Slack's mrkdwn.
var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Fields   []slackText `json:"fields,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

// slack is a message of blocks, with a text for notifications and for clients without blocks.
func (m *message) slack() ([]byte, error) {
	s, err := describe(m.event)
	if err != nil {
		return nil, err
	}
	blocks := []slackBlock{
		{Type: "header", Text: &slackText{"plain_text", cut(s.Title, maxSlackHeader)}},
		{Type: "section", Text: &slackText{"mrkdwn", slackEscaper.Replace(s.Text)}},
	}
	var fields []slackText
	for _, f := range s.Facts {
		text := "*" + slackEscaper.Replace(f.Name) + "*\n" + slackEscaper.Replace(f.Value)
		fields = append(fields, slackText{"mrkdwn", text})
	}
	if len(fields) > 0 {
		blocks = append(blocks, slackBlock{Type: "section", Fields: fields[:min(len(fields), maxSlackFields)]})
	}
	if s.Action != "" {
		blocks = append(blocks, slackBlock{Type: "section", Text: &slackText{"mrkdwn", slackEscaper.Replace(s.Action)}})
	}
	footer := slackText{"mrkdwn", slackEscaper.Replace(m.footer())}
	blocks = append(blocks, slackBlock{Type: "context", Elements: []slackText{footer}})
	return marshal(map[string]any{"text": slackEscaper.Replace(s.Title + ". " + s.Text), "blocks": blocks})
}

// footer returns the event type and time of a message, for searching logs.
func (m *message) footer() string {
	return m.event.At.UTC().Format("2006-01-02 15:04:05 UTC") + " · " + string(m.event.Type) + " · " + m.event.ID
}

// teams is an Adaptive Card in the envelope that the workflows "Post to a channel when a webhook request is received"
// take. Its texts are runs, in which nothing is Markdown: a name that a customer chose cannot become a link.
func (m *message) teams() ([]byte, error) {
	s, err := describe(m.event)
	if err != nil {
		return nil, err
	}
	body := []teamsBlock{newTeamsBlock(teamsRun{Text: s.Title, Size: "Large", Weight: "Bolder"}),
		newTeamsBlock(teamsRun{Text: s.Text})}
	for _, f := range s.Facts {
		line := newTeamsBlock(teamsRun{Text: f.Name + ": ", Weight: "Bolder"}, teamsRun{Text: f.Value})
		line.Spacing = "Small"
		body = append(body, line)
	}
	if s.Action != "" {
		body = append(body, newTeamsBlock(teamsRun{Text: s.Action}))
	}
	body = append(body, newTeamsBlock(teamsRun{Text: m.footer(), Size: "Small", Subtle: true}))
	type object = map[string]any
	card := object{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"fallbackText": s.Title + ". " + s.Text, "msteams": object{"width": "Full"}, "body": body,
	}
	return marshal(object{"type": "message", "attachments": []object{
		{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card},
	}})
}

type teamsBlock struct {
	Type    string     `json:"type"`
	Spacing string     `json:"spacing,omitempty"`
	Runs    []teamsRun `json:"inlines"`
}

type teamsRun struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Size   string `json:"size,omitempty"`
	Weight string `json:"weight,omitempty"`
	Subtle bool   `json:"isSubtle,omitempty"`
}

func newTeamsBlock(runs ...teamsRun) teamsBlock {
	for i := range runs {
		runs[i].Type = "TextRun"
	}
	return teamsBlock{Type: "RichTextBlock", Runs: runs}
}

// telegram is the JSON of the method sendMessage, in Telegram's HTML: of its three styles the one with the
// fewest characters to escape.
func (m *message) telegram() ([]byte, error) {
	s, err := describe(m.event)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("<b>" + html.EscapeString(s.Title) + "</b>\n\n" + html.EscapeString(s.Text) + "\n")
	for _, f := range s.Facts {
		b.WriteString("\n" + html.EscapeString(f.Name) + ": <code>" + html.EscapeString(f.Value) + "</code>")
	}
	if s.Action != "" {
		b.WriteString("\n\n" + html.EscapeString(s.Action))
	}
	b.WriteString("\n\n<i>" + html.EscapeString(m.footer()) + "</i>")
	return marshal(map[string]any{
		"chat_id": m.channel.Target, "text": b.String(), "parse_mode": "HTML",
		"link_preview_options": map[string]bool{"is_disabled": true},
	})
}

// marshal writes JSON without the escapes that are for browsers.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// judge reads an answer as its service means it.
func (r *result) judge(k Kind, body []byte) {
	switch k {
	case Slack:
		r.judgeSlack(body)
	case Teams:
		r.judgeTeams(body)
	case Telegram:
		r.judgeTelegram(body)
	}
}

// judgeSlack interprets a response of Slack, or of a compatible service: "ok" or an object that says so. Any other
// page, such as that of a proxy that requires a login, is a failure.
func (r *result) judgeSlack(body []byte) {
	if r.verdict != accepted {
		return
	}
	var told struct{ OK, Success bool }
	text := strings.TrimSpace(string(body))
	if text == "" || text == "ok" || json.Unmarshal(body, &told) == nil && (told.OK || told.Success) {
		return
	}
	r.verdict, r.err = retry, "the answer is not that of Slack"
}

// judgeTeams interprets a response of a workflow or connector of Teams. Some report failures with status 200.
func (r *result) judgeTeams(body []byte) {
	if r.verdict == accepted && strings.Contains(string(body), "Webhook message delivery failed") {
		r.verdict, r.err = retry, "Teams could not deliver the message"
	}
}

// A telegramAnswer is a response of the Bot API.
type telegramAnswer struct {
	OK          bool   `json:"ok"`
	Code        int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int64 `json:"retry_after"`
	} `json:"parameters"`
}

// judgeTelegram interprets a response of the Bot API. The retry delay of a 429 is in the body.
func (r *result) judgeTelegram(body []byte) {
	var a telegramAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		if r.verdict == accepted {
			r.verdict, r.err = retry, "the answer is not that of Telegram"
		}
		return
	}
	if a.OK && r.verdict == accepted {
		return
	}
	if r.verdict == accepted {
		r.verdict, r.err = retry, "Telegram did not take the message"
		if a.Code >= 400 && a.Code < 500 {
			r.verdict = verdictOf(a.Code)
		}
	}
	if r.status == http.StatusTooManyRequests || a.Code == http.StatusTooManyRequests {
		seconds := min(max(a.Parameters.RetryAfter, 0), int64(maxRetryAfter/time.Second))
		r.after = max(r.after, time.Duration(seconds)*time.Second)
	}
}
