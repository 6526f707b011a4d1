package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/diagkit/diagkit/metering"
)

const (
	// userAgent is that of deliveries to webhooks (CONTRACT 7).
	userAgent     = "Service-Webhook/2.0"
	schemaVersion = "2"
	// maxAnswer bounds how much of a response is read: enough for any response of Telegram.
	maxAnswer = 4 << 10
	// maxShown bounds how much of an error response is kept for the operator.
	maxShown = 200
)

// A message is one attempt at a delivery.
type message struct {
	channel  *channelDoc
	event    metering.Event
	delivery *Delivery
	at       time.Time
}

// send makes one attempt, within the context.
func (w *Worker) send(ctx context.Context, m *message) result {
	if m.channel.Kind == Email {
		return w.Mail.send(ctx, m)
	}
	req, err := m.request(ctx)
	if err != nil {
		return messageFault(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return result{verdict: retry, err: reasonOf(ctx, err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil && ctx.Err() != nil {
		return result{verdict: retry, status: resp.StatusCode, err: reasonOf(ctx, err)}
	}
	r := result{
		verdict: verdictOf(resp.StatusCode), status: resp.StatusCode,
		after: retryAfter(resp.Header.Get("Retry-After"), m.at),
	}
	r.judge(m.channel.Kind, body)
	if r.verdict != accepted {
		r.response = printable([]byte(m.channel.redact(string(body)))) // before it is cut in the middle of a secret
		if r.err == "" {
			r.err = strings.TrimSpace(fmt.Sprintf("the receiver answered %d %s", r.status, http.StatusText(r.status)))
		}
	}
	return r
}

// printable is the beginning of an answer, on one line.
func printable(body []byte) string {
	text := strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(body), " "))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}

// request builds the request for a kind of channel.
func (m *message) request(ctx context.Context) (*http.Request, error) {
	target := m.channel.Target
	var body []byte
	var err error
	switch m.channel.Kind {
	case Webhook:
		body, err = m.body()
	case Slack:
		body, err = m.slack()
	case Teams:
		body, err = m.teams()
	case Telegram:
		target = "https://api.telegram.org/bot" + m.channel.Secret + "/sendMessage"
		body, err = m.telegram()
	default:
		err = &ReasonError{Reason: fmt.Sprintf("there is no channel of kind %q", m.channel.Kind)}
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, &ReasonError{Reason: "the URL of the channel cannot be used"}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Content-Type", "application/json")
	if m.channel.Kind == Webhook {
		m.sign(req.Header, body)
	}
	return req, nil
}

// A Body is the payload of a webhook (CONTRACT 7).
type Body struct {
	SchemaVersion string                 `json:"schema_version"`
	EventID       string                 `json:"event_id"` // the same for all attempts and replays
	DeliveryID    string                 `json:"delivery_id"`
	Attempt       int                    `json:"attempt"`
	EventType     metering.EventType     `json:"event_type"`
	Category      metering.EventCategory `json:"category"`
	OccurredAt    time.Time              `json:"occurred_at"`
	Data          json.RawMessage        `json:"data"`
}

func (m *message) body() ([]byte, error) {
	data, err := json.Marshal(m.event.Data)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", m.event.ID, err)
	}
	if string(data) == "null" {
		data = []byte("{}")
	}
	return json.Marshal(Body{schemaVersion, m.event.ID, m.delivery.ID, len(m.delivery.Attempts), m.event.Type,
		m.event.Type.Category(), m.event.At.UTC(), data})
}

// sign adds the headers of CONTRACT 7, under its own names and under those of Standard Webhooks.
func (m *message) sign(h http.Header, body []byte) {
	set := func(name, value string) { h[name] = []string{value} } // over HTTP/1.1 spelled as it is here
	timestamp := strconv.FormatInt(m.at.Unix(), 10)
	set("X-Service-Event-ID", m.event.ID)
	set("X-Service-Delivery-ID", m.delivery.ID)
	set("X-Service-Attempt", fmt.Sprintf("%d/%d", len(m.delivery.Attempts), MaxAttempts))
	set("X-Service-Event-Type", string(m.event.Type))
	set("X-Service-Timestamp", timestamp)
	set("webhook-id", m.event.ID)
	set("webhook-timestamp", timestamp)
	var signatures []string
	for _, s := range m.channel.secrets(m.at) {
		signatures = append(signatures, Sign(s, m.event.ID, m.at, body))
	}
	if len(signatures) > 0 {
		set("X-Service-Signature", strings.Join(signatures, " "))
		set("webhook-signature", strings.Join(signatures, " "))
	}
}
