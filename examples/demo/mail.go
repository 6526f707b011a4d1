package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/emersion/go-msgauth/dkim"
)

// letterKey signs the mail of good.example; its other half stands in internet/internet.zone. It is secret from nobody.
var letterKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))

// A letter is a message as it lies in a mailbox at example.com.
type letter struct {
	host, ip string // of the server that delivered it
	signed   bool
}

// base64 writes the letter as a request has it, sent a minute before the time.
func (l letter) base64(now time.Time) string {
	at := now.Add(-time.Minute).UTC().Format(time.RFC1123Z)
	text := fmt.Sprintf("From: Good Shop <orders@good.example>\r\nTo: bob@example.com\r\nSubject: Your order\r\nDate: %s\r\n"+
		"Message-ID: <1@%s>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nIt is on its way.\r\n", at, l.host)
	if l.signed {
		text = sign(text)
	}
	text = fmt.Sprintf("Return-Path: <orders@good.example>\r\nReceived: from %s (%[1]s [%s])\r\n\tby mx1.example.com (Postfix) "+
		"with ESMTPS id 1\r\n\tfor <bob@example.com>; %s\r\n", l.host, l.ip, at) + text
	return base64.StdEncoding.EncodeToString([]byte(text))
}

func sign(text string) string {
	var b bytes.Buffer
	err := dkim.Sign(&b, strings.NewReader(text), &dkim.SignOptions{
		Domain: "good.example", Selector: "mail", Signer: letterKey,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
		HeaderKeys: []string{"From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"},
	})
	if err != nil {
		return text // the tour, whose stops are tested, shows that it is not signed
	}
	return b.String()
}

// The hosted SPF profiles of the demonstration. The first has the id that the documentation shows.
const (
	profileID       = "spf_mn4zq2vtw6k7y3cx5hbd2jfgla"
	brokenProfileID = "spf_brokenbrokenbrokenbrokenbr"
)

// newProfiles makes two profiles that are due: one that can be resolved, and one that cannot.
func newProfiles(ctx context.Context, owner hostedspf.Owner) (hostedspf.Store, error) {
	store := memory.New(memory.Config{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i, p := range []struct{ id, domain, record string }{
		{profileID, "example.com", "v=spf1 mx include:_spf.news.example include:_spf.shop.example -all"},
		{brokenProfileID, "good.example", "v=spf1 include:servfail.example -all"},
	} {
		domain, err := diag.ParseDomain(p.domain)
		if err != nil {
			return nil, err
		}
		host, err := diag.ParseName("_spf." + p.domain)
		if err != nil {
			return nil, err
		}
		err = store.Create(ctx, hostedspf.Profile{
			ID: p.id, Owner: owner, Domain: domain, Name: p.domain, Status: hostedspf.Active,
			SourceRecord: p.record, IncludeHost: host, IntervalSeconds: hostedspf.DefaultInterval,
			CreatedAt: now.Add(time.Duration(i) * time.Microsecond), UpdatedAt: now, NextResolveAt: now,
		})
		if err != nil {
			return nil, err
		}
	}
	return store, nil
}
