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
	// commandTime bounds the duration of a command, or of the whole message.
	commandTime = 2 * time.Minute
	// maxLine lets messages in whose lines are longer than RFC 5322 section 2.1.1 allows, so that the report can say so.
	maxLine = 64 << 10
	// maxRefused is how many recipients one connection may guess.
	maxRefused = 5
	// maxPath is the most that a sender may have (RFC 5321 section 4.5.3.1.3).
	maxPath = 256
)

// The replies. All that they reveal about an address is whether it waits for a message.
var (
	errUnknown = reply(550, 5, 1, 1, "No such address here. Each is good for one message within an hour")
	errServed  = reply(421, 4, 7, 0, "One message a connection")
	errGuesses = reply(421, 4, 7, 0, "Too many unknown recipients")
	errBusy    = reply(451, 4, 3, 2, "Busy, try again later")
	errLine    = reply(554, 5, 6, 0, "A line of the message is too long")
	errLost    = reply(451, 4, 4, 2, "The message was not received as a whole")
	errSender  = reply(553, 5, 1, 7, "The sender is not a mail address in ASCII")
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
	s.ReadTimeout, s.WriteTimeout = commandTime, commandTime
	s.ErrorLog = slog.NewLogLogger(b.Log.Handler(), slog.LevelDebug) // mostly of clients that vanish
	return s
}

// A session is a connection before or after STARTTLS. BDAT reads a message concurrently with the commands.
type session struct {
	box  *Box
	conn *smtp.Conn

	mu       sync.Mutex
	from, to string // to is a local part
	served   bool
	refused  int
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
	if at < 1 || !plain || len(from) > maxPath || !senderDomain.MatchString(from[at+1:]) {
		return errSender
	}
	return nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served {
		last(s.conn.Conn())
		return errServed
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
	if strings.EqualFold(strings.TrimSuffix(to[at+1:], "."), s.box.Domain.String()) && s.box.expects(local) {
		s.to = local
		receiving(s.conn.Conn(), true)
		return nil
	}
	if s.refused++; s.refused < maxRefused {
		return errUnknown
	}
	last(s.conn.Conn())
	return errGuesses
}

func (s *session) Data(r io.Reader) error {
	s.mu.Lock()
	d, to := s.delivery(), s.to
	s.mu.Unlock()
	text, held, err := s.box.read(r, d.IP)
	if errors.Is(err, smtp.ErrTooLongLine) {
		err = errLine
	} else if _, answer := errors.AsType[*smtp.SMTPError](err); err != nil && !answer {
		err = errLost
	}
	if err == nil {
		err = s.box.take(to, d, text, held)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = true
	return nil
}

// delivery returns what the session knows of a message that begins now.
func (s *session) delivery() *delivery {
	d := &delivery{From: s.from, HELO: s.conn.Hostname(), At: s.box.Clock()}
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
	receiving(s.conn.Conn(), false)
}

func (*session) Logout() error { return nil }

// The bounds of connections.
const (
	// connectionTime bounds the duration of a connection.
	connectionTime = 5 * time.Minute
	// maxSent bounds how much a client may send: a message, and the commands and the TLS around it.
	maxSent = 8 << 20
	// maxReplies bounds the replies to a client: some 30 lines are enough for a message.
	maxReplies = 500
	// refusalTime bounds the reply to an excess connection.
	refusalTime = time.Second
)

// A listener bounds connections, all and those of a network.
type listener struct {
	net.Listener
	open *metering.NetworkCount
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, _ := netip.ParseAddrPort(c.RemoteAddr().String()) // all addresses that cannot be parsed count as one
		if leave, ok := l.open.Take(peer.Addr()); ok {
			return &conn{Conn: c, leave: leave, end: time.Now().Add(connectionTime), left: maxSent}, nil
		}
		_ = c.SetDeadline(time.Now().Add(refusalTime))
		_, _ = io.WriteString(c, "421 4.7.0 Too many connections, try again later\r\n")
		c.Close()
	}
}

// A conn has a deadline, and a bound of the bytes that it reads.
type conn struct {
	net.Conn
	leave func()
	end   time.Time
	left  int         // bytes to be read
	said  int         // lines, or records of TLS
	last  atomic.Bool // the reply under way is the last
	// receiving says that there is a recipient, and what comes is a message or leads to one.
	receiving atomic.Bool
}

// last ends a connection once the reply under way is written.
func last(c net.Conn) {
	if c := bounded(c); c != nil {
		c.last.Store(true)
	}
}

// receiving notes whether a message may come on a connection.
func receiving(c net.Conn, on bool) {
	if c := bounded(c); c != nil {
		c.receiving.Store(on)
	}
}

// bounded is the connection below TLS; nil if it is not one of a [listener].
func bounded(c net.Conn) *conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	own, _ := c.(*conn)
	return own
}

// Read fails with errLost while a message may come. Of a chunk of BDAT, go-smtp would take the end of the connection for
// the end of the message, and send the client the text of any other error.
func (c *conn) Read(b []byte) (n int, err error) {
	if c.last.Load() {
		return 0, io.EOF
	}
	err = io.EOF
	if c.left > 0 {
		n, err = c.Conn.Read(b)
		c.left -= n
	}
	if err != nil && c.receiving.Load() {
		err = errLost
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if c.said++; c.said > maxReplies {
		c.last.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(c.within(t)) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.within(t)) }

func (c *conn) within(t time.Time) time.Time {
	if t.After(c.end) {
		return c.end
	}
	return t
}

func (c *conn) Close() error {
	c.leave()
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
