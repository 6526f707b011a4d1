package letterbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/emersion/go-smtp"
)

const (
	// maxCommandTime bounds the duration of a command, or of the whole message.
	maxCommandTime = 2 * time.Minute
	// maxLine lets messages in whose lines are longer than RFC 5322 section 2.1.1 allows, so that the report can say
	// so.
	maxLine = 64 << 10
	// maxRefusedRecipients is how many recipients one connection may guess.
	maxRefusedRecipients = 5
	// maxSenderLength is the most that a sender may have (RFC 5321 section 4.5.3.1.3).
	maxSenderLength = 256
)

// accepted is the reply to a message. What the server says to other commands are words of go-smtp.
var accepted = reply(250, 2, 0, 0, "Message received. The report is on the page that shows the address")

// The refusals. All that they reveal about an address is whether it waits for a message.
var (
	errUnknown        = reply(550, 5, 1, 1, "No such address here. Each is good for one message within an hour")
	errSecondMessage  = reply(421, 4, 7, 0, "One message a connection")
	errTooManyRefused = reply(421, 4, 7, 0, "Too many unknown recipients")
	errBusy           = reply(451, 4, 3, 2, "Busy, try again later")
	errLongLine       = reply(554, 5, 6, 0, "A line of the message is too long")
	errIncomplete     = reply(451, 4, 4, 2, "The message was not received as a whole")
	errSender         = reply(553, 5, 1, 7, "The sender is not a mail address in ASCII")
)

func reply(code, class, subject, detail int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, subject, detail}, Message: text}
}

// newServer returns a server without AUTH, since its sessions have no mechanism, which answers VRFY and EXPN without
// a lookup. go-smtp ends a message at CRLF.CRLF alone, and drops what was sent before TLS began.
//
// There is no postmaster, though RFC 5321 section 4.5.1 requires one: its mail would not be read.
func (b *Box) newServer() *smtp.Server {
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{box: b, conn: c}, nil
	}))
	s.Domain, s.TLSConfig = b.Domain.String(), b.TLS
	s.MaxRecipients, s.MaxMessageBytes, s.MaxLineLength = 1, maxMessage, maxLine
	s.ReadTimeout, s.WriteTimeout = maxCommandTime, maxCommandTime
	s.ErrorLog = slog.NewLogLogger(b.Log.Handler(), slog.LevelDebug) // mostly of clients that vanish
	return s
}

// A session is a connection before or after STARTTLS. BDAT reads a message concurrently with the commands.
type session struct {
	box  *Box
	conn *smtp.Conn

	mu           sync.Mutex
	from, to     string // to is a local part
	received     bool
	refusedCount int
}

// senderDomain matches the domain of a sender, and the name of a client: address literals too.
var senderDomain = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]{1,255}$`)

// checkSender refuses what is not safe in the fields above a message.
func checkSender(from string) error {
	if from == "" { // bounces
		return nil
	}
	at := strings.LastIndexByte(from, '@')
	plain := !strings.ContainsFunc(from, func(r rune) bool { return r < ' ' || r > '~' })
	if at < 1 || !plain || len(from) > maxSenderLength || !senderDomain.MatchString(from[at+1:]) {
		return errSender
	}
	return nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.received {
		closeAfterReply(s.conn.Conn())
		return errSecondMessage
	}
	if err := checkSender(from); err != nil {
		return err
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := strings.LastIndexByte(to, '@')
	local := strings.ToLower(to[:max(at, 0)])
	if strings.EqualFold(strings.TrimSuffix(to[at+1:], "."), s.box.Domain.String()) && s.box.isWaiting(local) {
		s.to = local
		setExpectsMessage(s.conn.Conn(), true)
		return nil
	}
	if s.refusedCount++; s.refusedCount < maxRefusedRecipients {
		return errUnknown
	}
	closeAfterReply(s.conn.Conn())
	return errTooManyRefused
}

func (s *session) Data(r io.Reader) error {
	s.mu.Lock()
	d, to := s.delivery(), s.to
	s.mu.Unlock()
	text, held, err := s.box.readMessage(r, d.IP)
	if errors.Is(err, smtp.ErrTooLongLine) {
		err = errLongLine
	} else if _, answer := errors.AsType[*smtp.SMTPError](err); err != nil && !answer {
		err = errIncomplete
	}
	if err == nil {
		err = s.box.accept(to, d, text, held)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = true
	return accepted
}

// delivery returns what the session knows of a message that begins now.
func (s *session) delivery() *delivery {
	d := &delivery{From: s.from, HELO: s.conn.Hostname(), ReceivedAt: s.box.Clock()}
	if peer, err := netip.ParseAddrPort(s.conn.Conn().RemoteAddr().String()); err == nil {
		d.IP = peer.Addr().Unmap().WithZone("")
	}
	if state, ok := s.conn.TLSConnectionState(); ok {
		d.Version = strings.ReplaceAll(tls.VersionName(state.Version), "TLS ", "TLSv")
		d.Cipher = tls.CipherSuiteName(state.CipherSuite)
	}
	return d
}

func (s *session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.to = "", ""
	setExpectsMessage(s.conn.Conn(), false)
}

func (*session) Logout() error { return nil }

// The bounds of connections.
const (
	// maxConnectionTime bounds the duration of a connection.
	maxConnectionTime = 5 * time.Minute
	// maxReceivedBytes bounds how much a client may send: a message, and the commands and the TLS around it.
	maxReceivedBytes = 8 << 20
	// maxReplyLines bounds the replies to a client: some 30 lines are enough for a message.
	maxReplyLines = 500
	// refusalTimeout bounds the reply to an excess connection.
	refusalTimeout = time.Second
)

// A listener bounds connections, all and those of a network.
type listener struct {
	net.Listener
	connections *metering.NetworkCount
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, _ := netip.ParseAddrPort(c.RemoteAddr().String()) // all addresses that cannot be parsed count as one
		if release, ok := l.connections.Take(peer.Addr()); ok {
			return &conn{Conn: c, release: release, deadline: time.Now().Add(maxConnectionTime),
				remaining: maxReceivedBytes}, nil
		}
		_ = c.SetDeadline(time.Now().Add(refusalTimeout))
		_, _ = io.WriteString(c, "421 4.7.0 Too many connections, try again later\r\n")
		c.Close()
	}
}

// A conn has a deadline, and a bound of the bytes that it reads.
type conn struct {
	net.Conn
	release    func()
	deadline   time.Time
	remaining  int         // bytes to be read
	replyCount int         // lines, or records of TLS
	closing    atomic.Bool // the reply under way is the last
	// expectsMessage is set once there is a recipient: what comes is a message, or leads to one.
	expectsMessage atomic.Bool
}

// closeAfterReply ends a connection once the reply under way is written.
func closeAfterReply(c net.Conn) {
	if c := boundedConn(c); c != nil {
		c.closing.Store(true)
	}
}

// setExpectsMessage notes whether a message may come on a connection.
func setExpectsMessage(c net.Conn, expects bool) {
	if c := boundedConn(c); c != nil {
		c.expectsMessage.Store(expects)
	}
}

// boundedConn is the connection below TLS; nil if it is not one of a [listener].
func boundedConn(c net.Conn) *conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	b, _ := c.(*conn)
	return b
}

// Read fails with errLost while a message may come. Of a chunk of BDAT, go-smtp would take the end of the connection
// for the end of the message, and send the client the text of any other error.
func (c *conn) Read(b []byte) (n int, err error) {
	if c.closing.Load() {
		return 0, io.EOF
	}
	err = io.EOF
	if c.remaining > 0 {
		n, err = c.Conn.Read(b)
		c.remaining -= n
	}
	if err != nil && c.expectsMessage.Load() {
		err = errIncomplete
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if c.replyCount++; c.replyCount > maxReplyLines {
		c.closing.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(c.capDeadline(t)) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.capDeadline(t)) }

func (c *conn) capDeadline(t time.Time) time.Time {
	if t.After(c.deadline) {
		return c.deadline
	}
	return t
}

func (c *conn) Close() error {
	c.release()
	return c.Conn.Close()
}

// selfSigned makes a self-signed certificate. Senders accept it, because otherwise they would send in the clear (RFC
// 7435).
func selfSigned(name string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
