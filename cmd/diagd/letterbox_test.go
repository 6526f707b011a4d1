package main

import (
	"crypto/tls"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// The letter box receives a message and shows its report, next to the API.
func TestLetterbox(t *testing.T) {
	s := start(t, "--store=memory:", "--resolver=udp://127.0.0.1:1", "--letterbox-listen=127.0.0.1:0", "--letterbox-domain=box.example")
	address := s.log.wait(t, `letter box\W+address\W+([0-9.:]+)`)[1]
	reply, err := http.Post(s.url+"/letterbox", "", nil) // which follows the answer to the page
	require.NoError(t, err)
	reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
	page := reply.Request.URL.String()
	to := regexp.MustCompile(`[a-z2-7]{12}@box\.example`).FindString(get(t, page).body)
	client, err := smtp.DialStartTLS(address, &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.SendMail("a@example.org", []string{to}, strings.NewReader("From: a@example.org\r\n\r\nx\r\n")))
	require.Contains(t, get(t, page).body, "Delivery")
}
