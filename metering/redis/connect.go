package redis

import (
	"context"
	"errors"
	"net/url"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// errURL says nothing about the URL: parts of a mistyped one may belong to a password.
var errURL = errors.New("the URL of Redis must be such as redis://user:password@host:6379/0, or rediss:// for TLS; " +
	"in a password, characters other than letters and digits are to be percent-encoded")

// CheckURL returns what is wrong with the URL of a Redis, without connecting to it.
func CheckURL(url string) error {
	client, err := connect(url, patience)
	if err == nil {
		err = client.Close()
	}
	return err
}

// connect makes the client, which connects when it is used first.
func connect(text string, timeout time.Duration) (goredis.UniversalClient, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || u.Fragment != "" {
		return nil, errURL
	}
	if u.Query().Has("addr") {
		o, err := goredis.ParseClusterURL(text)
		if err != nil {
			return nil, errURL
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.DialerRetries, o.ContextTimeoutEnabled = 1, true
		return goredis.NewClusterClient(o), nil
	}
	o, err := goredis.ParseURL(text)
	if err != nil {
		return nil, errURL
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.DialerRetries, o.ContextTimeoutEnabled = 1, true
	o.MaxRetries = -1 // a request that may have taken its token must not take another
	return goredis.NewClient(o), nil
}

// Silence discards what the client library writes to standard error whenever it cannot connect, which Log reports
// once. It is a setting of the whole process, and therefore left to programs.
func Silence() { goredis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
