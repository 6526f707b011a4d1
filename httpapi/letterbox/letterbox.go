// Package letterbox is a mail server for one message at a time: a person gets an address, sends a message to it, and
// reads the report of mail/header-analyze about the very bytes that arrived.
//
//	box, err := letterbox.New(letterbox.Config{Env: env, Domain: domain})
//	go box.Serve(listener)               // SMTP (RFC 5321), with STARTTLS
//	mux.Handle("/letterbox", box)        // the pages
//	mux.Handle("/letterbox/", box)
//
// The pages have links to the first page of the server, its documentation and its dashboard, at "/", "/docs" and
// "/dashboard".
//
// GET /letterbox has a button, POST /letterbox makes an address, and /letterbox/{token} shows it, waits for the
// message and then shows the report. The token cannot be derived from the address, which is in the logs of the
// delivering servers.
//
// What is pasted into a form shows only what servers wrote down. Here the server is our own: it knows who connected,
// the HELO name, the envelope sender and how TLS was negotiated, and queries the DNS while the message arrives. It
// writes that above the message as every receiving server does (RFC 5321 section 4.4, RFC 8601), names itself as the
// server to be trusted, and passes all of it to [header.Analyze].
//
// Nothing is relayed or bounced, there are no mailboxes, and state is in memory: a message is forgotten once it is
// analyzed, an address without a message after an hour, a report after a day, and everything at the end of the
// process. The service is public, so everything has a bound.
package letterbox

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/emersion/go-smtp"
)

// The bounds of processing one message.
const (
	// maxMessage is the limit of mail/header-analyze, less the fields that are put above the message.
	maxMessage = 5<<20 - maxTrace
	maxTrace   = 4 << 10
	// waitingLifetime is how long an address waits for its message, and reportLifetime how long a report is kept.
	waitingLifetime = time.Hour
	reportLifetime  = 24 * time.Hour
	// maxAnalyses bounds the concurrent analyses, each of which holds some 45 MiB at worst.
	maxAnalyses = 2
	// maxAnalysisTime is more than an analysis takes: lookups end after ten seconds.
	maxAnalysisTime = 30 * time.Second
)

// The bounds of all clients together, in addition to those of the [budget.Budget].
var (
	// maxWaiting bounds the addresses that wait for a message, maxReports and maxReportBytes the reports that are
	// kept: of more, the oldest of the network that has most is forgotten.
	maxWaiting     = int(budget.Of(budget.LetterWaiting).All)
	maxReports     = int(budget.Of(budget.LetterReports).All)
	maxReportBytes = int(budget.Of(budget.LetterPages).All)
)

// Config configures a letter box. Only Domain is required.
type Config struct {
	// Env is the world that analyses see. Nil is the real one.
	Env *diag.Env
	// Domain is the domain of the addresses. Its MX record, or its own address, leads to Serve.
	Domain diag.Domain
	// TLS has the certificate for STARTTLS. Nil means one of its own, as is common among mail servers.
	TLS *tls.Config
	// Budget bounds connections, messages and addresses, in all and for each network. Nil means one of its own.
	Budget *budget.Budget
	// TrustedProxies are the peers whose X-Forwarded-For and Forwarded headers are trusted, for the limit of
	// addresses.
	TrustedProxies []netip.Prefix
	// Clock returns the time. Nil means time.Now.
	Clock func() time.Time
	// Log receives faults of the server, not of messages. Nil disables logging.
	Log *slog.Logger
}

// A Box is a letter box. Make one with [New].
type Box struct {
	Config
	smtp  *smtp.Server
	pages http.Handler
	mux   httpapi.Mux     // within pages
	ctx   context.Context // of analyses
	stop  context.CancelFunc

	analyses chan struct{}
	pending  sync.WaitGroup

	mu           sync.Mutex
	letters      map[string]*letter // by the local part of their addresses
	waitingCount int                // of them
	reportBytes  int                // bytes
	sweptAt      time.Time
}

// New prepares a letter box.
func New(c Config) (*Box, error) {
	b := &Box{
		Config: c, letters: map[string]*letter{}, analyses: make(chan struct{}, maxAnalyses),
	}
	if b.Domain.IsZero() {
		return nil, errors.New("a letter box needs a domain")
	}
	if b.Clock == nil {
		b.Clock = time.Now
	}
	if b.Budget == nil {
		b.Budget = budget.New(budget.Config{})
	}
	b.Log = cmp.Or(b.Log, slog.New(slog.DiscardHandler))
	if b.TLS == nil {
		cert, err := selfSigned(b.Domain.String(), b.Clock())
		if err != nil {
			return nil, err
		}
		b.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	b.TLS = b.TLS.Clone()
	b.TLS.NextProtos = nil // those of HTTP
	// Versions that RFC 8996 forbids are better than the clear text that senders would resort to, and the report tells.
	b.TLS.MinVersion = tls.VersionTLS10
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.smtp, b.pages = b.newServer(), b.newPages()
	return b, nil
}

// Serve takes messages until [Box.Close].
func (b *Box) Serve(l net.Listener) error {
	defer context.AfterFunc(b.ctx, func() { l.Close() })() // also where Close was faster
	return b.smtp.Serve(&listener{Listener: l, connections: b.Budget.LetterConnections})
}

// Close ends connections and analyses.
func (b *Box) Close() error {
	err := b.smtp.Close()
	b.mu.Lock()
	b.stop() // from here on nothing is claimed
	b.mu.Unlock()
	b.pending.Wait()
	return err
}

// readMessage reads a message of a client, as long as there is room for it and its networks have their share. The
// caller must release what it holds.
func (b *Box) readMessage(r io.Reader, ip netip.Addr) (text []byte, held *metering.NetworkHold, err error) {
	held = b.Budget.Letters.Open(ip)
	chunk := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = r.Read(chunk)
		if !held.Add(n) {
			err = errBusy
		} else {
			text = append(text, chunk[:n]...)
		}
	}
	if err != io.EOF {
		held.Release()
		return nil, nil, err
	}
	return text, held, nil
}
