package diag_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// overHTTPS asks one server by DNS over HTTPS (RFC 8484).
type overHTTPS struct {
	client *http.Client
	url    string
}

// Exchange implements [diag.Resolver].
func (d overHTTPS) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	question := q.Copy()
	question.Id = 0 // RFC 8484 section 4.1
	packed, err := question.Pack()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/dns-message")
	resp, err := d.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	packed, err = io.ReadAll(io.LimitReader(resp.Body, dns.MaxMsgSize))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking %s: %s: %w", d.url, resp.Status, err)
	}
	reply := new(dns.Msg)
	if err := reply.Unpack(packed); err != nil {
		return nil, err
	}
	reply.Id = q.Id
	return reply, nil
}

// A resolver of one's own has one method. Package resolver has one that speaks DNS over HTTPS, TLS, TCP and UDP.
func ExampleResolver() {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := new(dns.Msg)
		packed, err := io.ReadAll(io.LimitReader(r.Body, dns.MaxMsgSize))
		if err == nil {
			err = q.Unpack(packed)
		}
		if err == nil {
			reply := new(dns.Msg).SetReply(q)
			mx, _ := dns.NewRR("example.com. 300 IN MX 10 mail.example.com.")
			reply.Answer = []dns.RR{mx}
			packed, err = reply.Pack()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/dns-message")
		w.Write(packed)
	}))
	defer server.Close()

	env := &diag.Env{Resolver: overHTTPS{server.Client(), server.URL + "/dns-query"}}
	mx := diag.Lookup[*dns.MX](context.Background(), env, "example.com.")
	if err := mx.Err(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mx.Records[0].Mx)
	// Output: mail.example.com.
}
