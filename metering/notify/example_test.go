package notify_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/notify"
)

// A receiver verifies a request before it trusts it.
func ExampleVerify() {
	ctx := context.Background()
	var secret notify.Secret
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil || notify.Verify(r.Header, body, time.Now(), secret) != nil {
			http.Error(w, "not signed by whom I know", http.StatusUnauthorized)
			return
		}
		fmt.Println("received", r.Header.Get("X-Service-Event-Type"))
	}))
	defer receiver.Close()

	store := memory.New(memory.Config{})
	defer store.Close()
	account, err := metering.Admin{Store: store}.CreateAccount(ctx, "Example", "free")
	if err != nil {
		fmt.Println(err)
		return
	}
	channels := notify.Channels{Store: store, Ports: []uint16{portOf(receiver.URL)}}
	channel, signing, err := channels.Create(ctx, notify.ChannelRequest{
		Account: account.ID, Name: "ops", Kind: notify.Webhook, Target: receiver.URL,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	secret = signing
	delivery, err := channels.Test(ctx, account.ID, channel.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	worker := &notify.Worker{Store: store, Client: receiver.Client()}
	if err := worker.Flush(ctx); err != nil {
		fmt.Println(err)
		return
	}
	delivery, err = channels.Delivery(ctx, account.ID, delivery.ID)
	fmt.Println(delivery.State, err)
	// Output:
	// received channel.test
	// delivered <nil>
}

func portOf(address string) uint16 {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, _ := strconv.ParseUint(u.Port(), 10, 16)
	return uint16(port)
}
