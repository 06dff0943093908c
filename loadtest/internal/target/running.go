package target

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
)

// reachTimeout is how long a running service may take to answer at all.
const reachTimeout = 5 * time.Second

// Check finds flags that exclude each other.
func (c Config) Check() error {
	running := len(c.ServiceURLs) > 0
	switch {
	case c.Private && (running || c.DatabaseURL != "" || c.RedisURL != ""):
		return errors.New("--private-servers excludes --url, --database-url and --redis-url")
	case running && c.RedisURL != "":
		return errors.New("--url and --redis-url exclude each other: running services have a Redis of their own")
	case running && c.DatabaseURL == "":
		return errors.New("--url needs --database-url, whose rows are audited")
	}
	for i, serviceURL := range c.ServiceURLs {
		if _, err := nameOf(serviceURL); err != nil {
			return fmt.Errorf("--url, number %d: %w", i+1, err)
		}
	}
	return nil
}

// nameOf is a service's URL without what may be secret in it.
func nameOf(serviceURL string) (string, error) {
	parsed, err := url.Parse(serviceURL)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return "", errors.New("must be http://HOST:PORT or https://…") // err would quote a password
	}
	return parsed.Scheme + "://" + parsed.Host, nil
}

// useRunning makes sure that the services and their database answer.
func (t *Target) useRunning(ctx context.Context, urls []string, key string) error {
	for _, serviceURL := range urls {
		if err := reach(ctx, serviceURL, key); err != nil {
			return err
		}
	}
	store, err := app.OpenForReading(ctx, t.databaseURL)
	if err != nil {
		return fmt.Errorf("open the database for the audit: %w", err)
	}
	t.URLs, t.Name = urls, strconv.Itoa(len(urls))+" running service"
	if len(urls) > 1 {
		t.Name += "s"
	}
	return store.Close()
}

// reach requests an unknown SKU of a service: every inventory service has its own answer to that.
func reach(ctx context.Context, serviceURL, key string) error {
	name, err := nameOf(serviceURL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	service, err := client.NewService(serviceURL, 1, time.Millisecond, client.WithKey(key))
	if err != nil {
		return fmt.Errorf("the service at %s: its URL cannot be used", name) // err would quote a password
	}
	defer service.Close()
	answer, err := service.ReadSKU(ctx, "loadtest-reach")
	if err != nil {
		return fmt.Errorf("reach the service at %s: %w", name, WithoutURL(err))
	}
	known := answer.Problem != nil && answer.Problem.Code == client.UnknownSku
	if !answer.OK() && !known {
		return fmt.Errorf("what answers at %s is no inventory service in order: %w", name, answer.Err())
	}
	return nil
}

// WithoutURL takes the URL, which may hold secrets, out of an error of an HTTP client.
func WithoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
