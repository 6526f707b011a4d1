package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readers are the commands that change nothing, or no store. Every other one is a row of the log.
var readers = []string{"serve", "openapi", "version", "account list", "account show", "plan list", "key list", "channel list",
	"channel deliveries", "spf list", "spf show", "spf key", "spf ds", "usage", "audit", "billing preview", "billing invoices",
	"billing notes", "billing charges", "backup", "restore", "migrate", "config check", "data list", "data show", "health", "doctor", "member list", "log", "mail key", "mail test",
	"watch list", "watch history", "watch show", "man"}

// Every command that changes something is logged, and the table names no other.
func TestEveryActIsLogged(t *testing.T) {
	known := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if name := actName(c); !c.HasSubCommands() {
			known[name] = true
			assert.NotEqual(t, slices.Contains(acts, name), slices.Contains(readers, name), "is %q a row of the log?", name)
		}
	}
	walk((&app{}).command())
	for _, name := range acts {
		assert.True(t, known[name], "there is no command %q", name)
	}
}

// Commands are in the log, with the reasons of refusals, and without secrets.
func TestLog(t *testing.T) {
	store, _ := newStore(t)
	key := parsed[keyView](t, "key", "create", "--name", "ci", "--scopes", "dns:read", store)
	command(t, "channel", "create", "--name", "ops", "--kind", "slack", "--target", "https://hooks.slack.com/services/T/verysecret", store)
	command(t, "key", "revoke", string(key.ID), store)
	out := newWatched()
	assert.Equal(t, exitUsage, run(t.Context(), []string{"key", "rotate", string(key.ID), store}, out, out))
	command(t, "account", "create", "--name", "second", store)
	command(t, "key", "list", "--account", string(key.Account), store)

	list := parsed[[]metering.Act](t, "log", store)
	var did []string
	for _, act := range list {
		did = append(did, act.What)
		assert.Equal(t, "diagd", act.From)
		assert.Contains(t, act.Who, "@")
	}
	assert.Equal(t, []string{"account create", "key rotate", "key revoke", "channel create", "key create"}, did)
	assert.Empty(t, list[0].Account)
	assert.Equal(t, key.Account, list[1].Account)
	assert.Contains(t, list[1].Error, "the key is revoked")
	assert.Equal(t, string(key.ID), list[2].Subject)
	assert.Equal(t, "--name=ci --scopes=[dns:read]", list[4].Detail)
	text := command(t, "log", store)
	assert.NotContains(t, text, "verysecret")
	assert.NotContains(t, text, key.Secret)
	assert.Len(t, parsed[[]metering.Act](t, "log", "--account", string(key.Account), "--limit", "2", store), 2)
	assert.Equal(t, exitUsage, run(t.Context(), []string{"log", "--account", "acc_none", store}, out, out))
}

func TestMembers(t *testing.T) {
	store, _ := newStore(t)
	assert.Equal(t, "owner@localhost", parsed[[]memberView](t, "member", "list", store)[0].Email)
	made := parsed[memberView](t, "member", "add", "Ada@Example.com", "--role", "developer", store)
	assert.Equal(t, "ada@example.com", made.Email)
	assert.Equal(t, member.Developer, made.Role)
	assert.Equal(t, member.Viewer, parsed[memberView](t, "member", "role", "ada@example.com", "--role", "viewer", store).Role)
	link := parsed[linkView](t, "member", "link", "ada@example.com", "--public-url", "https://diag.example.com", store)
	assert.Regexp(t, `^https://diag\.example\.com/dashboard/enter\?token=[\w-]{43}$`, link.URL)
	for _, args := range [][]string{
		{"member", "remove", "owner@localhost"}, {"member", "add", "ada@example.com", "--role", "viewer"},
		{"member", "add", "bob@example.com"}, {"member", "link", "bob@example.com"}, {"member", "remove", "bob@example.com"},
	} {
		out := newWatched()
		assert.Equal(t, exitUsage, run(t.Context(), append(args, store), out, out), "%s: %s", args, out)
	}
	command(t, "member", "remove", "ada@example.com", store)
	assert.Len(t, parsed[[]memberView](t, "member", "list", store), 1)
}

// The first start prints a link, by which a browser enters the dashboard, once.
func TestFirstEntry(t *testing.T) {
	s := start(t, "--store=sqlite:"+t.TempDir()+"/diag.db")
	link := regexp.MustCompile(`http://\S+/dashboard/enter\?token=\S+`).FindString(s.log.String())
	require.NotEmpty(t, link, s.log.String())
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	get := func(url string) string {
		r, err := browser.Get(url)
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(body)
	}
	page := get(link)
	assert.Contains(t, page, "Sign in as owner@localhost")
	field := regexp.MustCompile(`name="(token|account)" value="([^"]+)"`)
	form := url.Values{}
	for _, m := range field.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], m[2])
	}
	base, _, _ := strings.Cut(link, "/dashboard")
	r, err := browser.PostForm(base+"/dashboard/enter", form)
	require.NoError(t, err)
	r.Body.Close()
	assert.Equal(t, "/dashboard", r.Request.URL.Path)
	assert.Contains(t, get(base+"/dashboard/keys"), "first")
	assert.Contains(t, get(link), "This link was already used")
	problem := get(base + "//dashboard/keys")
	assert.Contains(t, problem, `"request_id"`, "the API judges what the front does not know")
}

// Flags of the dashboard that would have no effect are refused.
func TestDashboardFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--public-url", "diag.example.com"}, {"--public-url", "https://diag.example.com/x"}, {"--public-url", "ftp://x"},
		{"--public-url", "https://u:p@diag.example.com"}, {"--trusted-user-header", "X-Forwarded-Email"},
	} {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"serve", "--listen=127.0.0.1:0", "--store=memory:"}, args...), &out, &out)
		assert.Equal(t, exitUsage, code, args)
		assert.Contains(t, out.String(), args[0]+": ", args)
	}
}
