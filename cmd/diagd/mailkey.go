package main

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/miekg/dns"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/metering/notify"
)

// dkimFlags configure the signatures of mail.
type dkimFlags struct{ domain, selector, key string }

func (f *dkimFlags) add(fs *pflag.FlagSet, selector, key string) {
	fs.StringVar(&f.domain, "mail-dkim-domain", "",
		"domain that signs mail with DKIM, of the same organization as --mail-from (default: unsigned)")
	fs.StringVar(&f.selector, "mail-dkim-selector", selector, "selector of the DKIM key")
	fs.StringVar(&f.key, "mail-dkim-key", key,
		"PEM file with the private key that signs mail, RSA or Ed25519; diagd mail key creates one")
}

// check reads the names.
func (f *dkimFlags) check() error {
	if f.domain == "" || f.selector == "" || f.key == "" {
		return usagef("--mail-dkim-domain, --mail-dkim-selector and --mail-dkim-key must be set together")
	}
	domain, err := diag.ParseDomain(f.domain)
	if err != nil {
		return usagef("--mail-dkim-domain: %w", err)
	}
	var selector diag.Selector
	if err := selector.UnmarshalText([]byte(f.selector)); err != nil {
		return usagef("--mail-dkim-selector: %w", err)
	}
	f.domain, f.selector = domain.String(), selector.String()
	return nil
}

// signer returns nil where mail is not to be signed.
func (f dkimFlags) signer(from string) (*notify.MailSigner, error) {
	if f == (dkimFlags{}) {
		return nil, nil
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	_, sender, _ := strings.Cut(strings.ToLower(from), "@")
	if policy.PublicSuffixOrganizational(sender) != policy.PublicSuffixOrganizational(f.domain) {
		return nil, usagef("--mail-dkim-domain: %s and %s of --mail-from belong to different organizations: "+
			"DMARC would ignore the signature", f.domain, sender)
	}
	text, err := os.ReadFile(f.key)
	if err != nil {
		return nil, usagef("--mail-dkim-key: %w", err)
	}
	key, err := notify.ParseMailKey(text)
	if err != nil {
		return nil, usagef("--mail-dkim-key: %s: %w", f.key, err)
	}
	return &notify.MailSigner{Domain: f.domain, Selector: f.selector, Key: key}, nil
}

func (a *app) mailCommand() *cobra.Command {
	return a.newGroup("mail", "Set up outgoing mail", a.mailKey(), a.mailTest())
}

type mailKeyView struct {
	File   string `json:"file"`
	Name   string `json:"name"`
	Record string `json:"record"`
	Line   string `json:"zone_line"`
	Flags  string `json:"flags"`
}

func (a *app) mailKey() *cobra.Command {
	var f dkimFlags
	var ed25519 bool
	const short = "Create a DKIM key for outgoing mail and print its record"
	cmd := newCommand("key", short, "", func(context.Context, []string) error {
		if err := f.check(); err != nil {
			return err
		}
		v, err := f.create(ed25519)
		if err != nil {
			return err
		}
		return a.print(v, func(t *table) {
			t.row("wrote " + v.File + "\n\npublish\n\n" + v.Line + "\n\nand serve with\n\n" + v.Flags)
		})
	})
	cmd.Long = `Create a private key in a file that only its owner may read, and print the record to publish and the flags to serve
with. The key is RSA with 2048 bits: not all receivers verify Ed25519. An existing file is never overwritten.`
	cmd.Example = "  diagd mail key --mail-dkim-domain example.com"
	f.add(cmd.Flags(), "diagd", "mail-dkim.pem")
	cmd.Flags().BoolVar(&ed25519, "ed25519", false, "create an Ed25519 key (RFC 8463)")
	return cmd
}

func (f dkimFlags) create(isEd25519 bool) (v mailKeyView, err error) {
	var key crypto.Signer
	if isEd25519 {
		_, key, err = ed25519.GenerateKey(rand.Reader)
	} else {
		key, err = rsa.GenerateKey(rand.Reader, notify.MinMailKey)
	}
	if err != nil {
		return v, fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return v, fmt.Errorf("writing the key: %w", err)
	}
	signer := notify.MailSigner{Domain: f.domain, Selector: f.selector, Key: key}
	record, err := signer.Record()
	if err != nil {
		return v, err
	}
	file, err := os.OpenFile(f.key, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return v, usagef("--mail-dkim-key: %s exists, and a key is never overwritten", f.key)
	}
	if err != nil {
		return v, fmt.Errorf("writing the key: %w", err)
	}
	err = errors.Join(pem.Encode(file, &pem.Block{Type: "PRIVATE KEY", Bytes: der}), file.Sync(), file.Close())
	if err != nil {
		return v, fmt.Errorf("writing the key: %w", err)
	}
	return mailKeyView{
		File: f.key, Name: signer.Name(), Record: record,
		Line:  render.Published(view.Step{Name: signer.Name() + ".", Type: "TXT", Value: record}),
		Flags: fmt.Sprintf("--mail-dkim-domain %s --mail-dkim-selector %s --mail-dkim-key %s", f.domain, f.selector, f.key),
	}, nil
}

type sentView struct {
	To   string `json:"to"`
	Sent bool   `json:"sent"`
}

func (a *app) mailTest() *cobra.Command {
	var f mailFlags
	const short = "Send a message as the server would"
	cmd := newCommand("test ADDRESS", short, "one address", func(ctx context.Context, args []string) error {
		server, err := f.parse()
		if err != nil {
			return err
		}
		err = a.withEnv(func(env *diag.Env) error {
			connectThrough(server, env)
			return server.Send(ctx, args[0], "Test message", "diagd mail test sent this message.\n")
		})
		if err != nil {
			return err
		}
		return a.print(sentView{args[0], true}, func(t *table) { t.row("The mail server accepted the message.") })
	})
	f.add(cmd.Flags())
	a.world.Add(cmd.Flags())
	return cmd
}

// examineMail checks whether mail is signed, and by a published key.
func (a *app) examineMail(ctx context.Context, env *diag.Env) partView {
	server, err := a.serving.mail.parse()
	switch {
	case err != nil:
		return faultyPart(conditionFault, "run diagd config check", "%v", err)
	case server == nil:
		return offPart("no --mail-server")
	case server.DKIM == nil:
		return faultyPart(conditionWarning, "create a key with diagd mail key, unless --mail-server signs",
			"sent without a DKIM signature")
	}
	signer := server.DKIM
	record, err := signer.Record()
	if err != nil {
		return faultyPart(conditionFault, "create another key with diagd mail key", "%v", err)
	}
	remedy := "publish " + render.Published(view.Step{Name: signer.Name() + ".", Type: "TXT", Value: record})
	txt := diag.Lookup[*dns.TXT](ctx, env, signer.Name()+".")
	if err := txt.Err(); err != nil {
		return faultyPart(conditionUnknown, "", "%s: %v", signer.Name(), err)
	}
	for _, r := range txt.Records {
		key, ok := dkim.ParseKey(strings.Join(dnsmsg.TXTStrings(r), "")).Public.(interface{ Equal(crypto.PublicKey) bool })
		if ok && key.Equal(signer.Key.Public()) {
			return okPart("signed by %s", signer.Name())
		}
	}
	return faultyPart(conditionFault, remedy, "%s does not have the key that signs", signer.Name())
}
