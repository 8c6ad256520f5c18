package pmi

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A card is in base64url, for values end at the first blank. It is cut into pieces of what a value
// holds; the first begins with the number of pieces and a full stop. No key is ever used twice:
// launchers differ in which value they keep.

const maxPieces = 256

func key(rank, piece int) string { return fmt.Sprintf("lapi-%d-%d", rank, piece) }

// pieces cuts a card into values of at most size bytes.
func pieces(card []byte, size int) []string {
	const head = len("256.")
	text := base64.RawURLEncoding.EncodeToString(card)
	count := max(1, (len(text)+size-head-1)/(size-head))
	all := make([]string, count)
	for i := range all {
		n := min(len(text), size-head)
		all[i], text = text[:n], text[n:]
	}
	all[0] = fmt.Sprintf("%d.%s", count, all[0])
	return all
}

// first reads the first piece of a card.
func first(value string) (count int, text string, err error) {
	number, text, ok := strings.Cut(value, ".")
	if count, err = strconv.Atoi(number); !ok || err != nil || count < 1 || count > maxPieces {
		return 0, "", errors.New("a card that cannot be read")
	}
	return count, text, nil
}

// Exchange implements Launcher.
func (c *Client) Exchange(card []byte) ([][]byte, error) {
	if err := c.Put(card); err != nil {
		return nil, err
	}
	cards := make([][]byte, c.size)
	for rank := range cards {
		var err error
		if cards[rank], err = c.Get(rank); err != nil {
			return nil, fmt.Errorf("task %d: %w", rank, err)
		}
	}
	return cards, nil
}

// Put implements Shelf. It waits for all tasks.
func (c *Client) Put(card []byte) error {
	values := pieces(card, c.value)
	if len(values) > maxPieces {
		return fmt.Errorf("a card of %d bytes is too long", len(card))
	}
	for i, v := range values {
		words := fmt.Sprintf("kvsname=%s key=%s value=%s", c.space, key(c.rank, i), v)
		if _, err := c.ask("put", "put_result", words); err != nil {
			return err
		}
	}
	_, err := c.ask("barrier_in", "barrier_out", "")
	return err
}

// Get implements Shelf.
func (c *Client) Get(rank int) ([]byte, error) {
	value, err := c.get(key(rank, 0))
	if err != nil {
		return nil, err
	}
	count, text, err := first(value)
	for i := 1; i < count && err == nil; i++ {
		if value, err = c.get(key(rank, i)); err == nil {
			text += value
		}
	}
	if err != nil {
		return nil, err
	}
	return base64.RawURLEncoding.DecodeString(text)
}

func (c *Client) get(key string) (string, error) {
	got, err := c.ask("get", "get_result", fmt.Sprintf("kvsname=%s key=%s", c.space, key))
	return got["value"], err
}
