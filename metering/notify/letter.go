package notify

import (
	"bytes"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/emersion/go-msgauth/dkim"
)

// A letter is a message of a text of lines before it is written (RFC 5322).
type letter struct {
	id, to, subject, text string
	at                    time.Time
	more                  [][2]string // additional fields, names and values
}

// write writes a letter, and signs it if there is a signer.
func (l *letter) write(from string, signer *MailSigner) ([]byte, error) {
	_, domain, _ := strings.Cut(from, "@")
	var b bytes.Buffer
	fields := append([][2]string{
		{"Date", l.at.UTC().Format(time.RFC1123Z)}, {"From", "<" + from + ">"}, {"To", "<" + l.to + ">"},
		{"Subject", subject(l.subject)}, {"Message-ID", "<" + l.id + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"}, // RFC 3834 section 5
	}, l.more...)
	fields = append(fields, [2]string{"MIME-Version", "1.0"}, [2]string{"Content-Type", "text/plain; charset=utf-8"},
		[2]string{"Content-Transfer-Encoding", "quoted-printable"})
	var names []string
	for _, f := range fields {
		b.WriteString(f[0] + ": " + f[1] + "\r\n")
		names = append(names, f[0])
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	if _, err := w.Write([]byte(strings.ReplaceAll(l.text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if signer == nil {
		return b.Bytes(), nil
	}
	return signer.sign(b.Bytes(), names)
}

// sign prepends a signature to a message. It covers all fields, and lists From and Subject twice, so that no second
// one can be added (RFC 6376 section 8.15).
func (s *MailSigner) sign(text []byte, names []string) ([]byte, error) {
	var signed bytes.Buffer
	err := dkim.Sign(&signed, bytes.NewReader(text), &dkim.SignOptions{
		Domain: s.Domain, Selector: s.Selector, Signer: s.Key, HeaderKeys: append(names, "From", "Subject"),
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
	})
	if err != nil {
		return nil, fmt.Errorf("signing mail: %w", err)
	}
	return signed.Bytes(), nil
}

// letter is the message of an event. Its id is that of the delivery, so that all its attempts are the same message.
// The question to an address has a link below confirm, or a code where that is empty.
func (m *message) letter(confirm string) (*letter, error) {
	s, err := describe(m.event)
	if err != nil {
		return nil, err
	}
	if code := m.channel.confirmCode(); m.event.Type == metering.EventChannelConfirm && code != "" {
		until := moment(&m.channel.ConfirmUntil)
		if confirm == "" {
			s.Text += "\n\nTo confirm, give this code to who asks you, until " + until + ":\n\n  " + code
		} else {
			s.Text += "\n\nTo confirm, open this link until " + until + ":\n\n  " + confirm + m.channel.record.ID + "/" + code
		}
	}
	return &letter{
		id: m.delivery.ID, at: m.delivery.CreatedAt, to: m.channel.Target, subject: s.Title, text: m.plain(s),
		more: [][2]string{{"X-Service-Event-ID", m.event.ID}, {"X-Service-Event-Type", string(m.event.Type)}},
	}, nil
}

// maxSubject keeps subjects on one line in most programs.
const maxSubject = 120

// subject encodes text that a header cannot hold (RFC 2047), and text that looks already encoded.
func subject(title string) string {
	title = cut(title, maxSubject)
	if strings.Contains(title, "=?") {
		title = strings.ReplaceAll(title, "=?", "= ?")
	}
	return strings.ReplaceAll(mime.QEncoding.Encode("utf-8", title), "?= =?", "?=\r\n =?")
}

// plain is the event as a text of lines.
func (m *message) plain(s summary) string {
	var b strings.Builder
	b.WriteString(s.Text + "\n")
	if len(s.Facts) > 0 {
		b.WriteString("\n")
	}
	for _, f := range s.Facts {
		b.WriteString(f.Name + ": " + f.Value + "\n")
	}
	if s.Action != "" {
		b.WriteString("\n" + s.Action + "\n")
	}
	b.WriteString("\n-- \n" + m.footer() + "\n")
	return b.String()
}
