package resolver

import (
	"bufio"
	"cmp"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	systemFile = "/etc/resolv.conf"
	// configCheck is how long a check of the file's modification time is valid.
	configCheck = 5 * time.Second
	// maxConfig bounds what is read of the file; real ones have some hundred bytes.
	maxConfig = 64 << 10
	// Bounds of resolv.conf(5): MAXNS, RES_MAXRETRANS and RES_MAXRETRY.
	maxServers        = 3
	maxConfigTimeout  = 30 * time.Second
	maxConfigAttempts = 5
)

// A Config is the configuration of servers in a resolv.conf(5) file. The search list is ignored, because all
// names are absolute here.
type Config struct {
	Servers  []Server
	Timeout  time.Duration // of one attempt; 0 if not set in the file
	Attempts int           // 0 if not set in the file
	Rotate   bool          // start with another server each time
	UseTCP   bool          // query only over TCP; Servers reflects that
}

// ParseConfig parses the format of resolv.conf(5). Invalid lines are ignored, as by the system's resolver. If
// there is no name server, the result has those of [FallbackServers].
func ParseConfig(r io.Reader) (Config, error) {
	var conf Config
	var ips []netip.Addr
	lines := bufio.NewScanner(io.LimitReader(r, maxConfig))
	lines.Buffer(nil, maxConfig+1)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		text, _, _ = strings.Cut(text, ";")
		fields := strings.Fields(text)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if ip, err := parseAddr(fields[1]); err == nil && len(ips) < maxServers {
				ips = append(ips, ip)
			}
		case "options":
			for _, option := range fields[1:] {
				conf.option(option)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return Config{}, err
	}
	conf.Servers = serversAt(UDP, ips)
	if conf.UseTCP {
		conf.Servers = serversAt(TCP, ips)
	}
	if len(conf.Servers) == 0 {
		conf.Servers = FallbackServers()
	}
	return conf, nil
}

func (c *Config) option(option string) {
	name, value, _ := strings.Cut(option, ":")
	n, err := strconv.Atoi(value)
	switch {
	case name == "timeout" && err == nil && n > 0:
		c.Timeout = min(time.Duration(min(n, 1000))*time.Second, maxConfigTimeout)
	case name == "attempts" && err == nil && n > 0:
		c.Attempts = min(n, maxConfigAttempts)
	case option == "rotate":
		c.Rotate = true
	case option == "use-vc":
		c.UseTCP = true
	}
}

// FallbackServers returns the servers to query if the system configures none: 127.0.0.1 and ::1.
func FallbackServers() []Server {
	return serversAt(UDP, addrs("127.0.0.1", "::1"))
}

// A configFile remembers a file, and when it was changed.
type configFile struct {
	known bool
	mtime time.Time
	size  int64
}

// read returns what the file says, if that may have changed since the last time.
func (f *configFile) read(path string) (conf Config, changed bool) {
	path = cmp.Or(path, systemFile)
	fallback := Config{Servers: FallbackServers()}
	info, err := os.Stat(path)
	if err != nil {
		changed = !f.known || !f.mtime.IsZero()
		*f = configFile{known: true}
		return fallback, changed
	}
	if f.known && info.ModTime().Equal(f.mtime) && info.Size() == f.size {
		return Config{}, false
	}
	file, err := os.Open(path)
	if err != nil {
		return fallback, true
	}
	defer file.Close()
	conf, err = ParseConfig(file)
	if err != nil {
		return fallback, true
	}
	*f = configFile{known: true, mtime: info.ModTime(), size: info.Size()}
	return conf, true
}
