package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of OpenMeteoConfig.
const (
	DefaultForecastURL  = "https://api.open-meteo.com"
	DefaultGeocodingURL = "https://geocoding-api.open-meteo.com"
	DefaultMaxResponse  = 256 << 10
)

// OpenMeteoConfig says which server OpenMeteo asks. The zero value asks open-meteo.com, which is free for what is not
// commercial.
type OpenMeteoConfig struct {
	// BaseURL is that of /v1/forecast and, unless GeocodingURL is set, of /v1/search; DefaultForecastURL and
	// DefaultGeocodingURL if empty.
	BaseURL      string
	GeocodingURL string
	// HTTPClient has http.DefaultTransport if nil. Redirects are not followed unless it says how.
	HTTPClient *http.Client
	// MaxResponse is the largest answer in bytes; DefaultMaxResponse if 0.
	MaxResponse int64
}

// OpenMeteo is the WeatherSource of open-meteo.com: it looks a place up, then asks for its weather. "Paris, Texas" is the
// first Paris whose region or country is Texas. The time that it takes is that of the context; see WeatherConfig.Timeout.
//
// Its errors are of KindNoPlace; tool.rate_limited; tool.transient where the server cannot be reached or is in trouble; and
// tool.execution_failed where it refuses or its answer cannot be used. Of what the server says they repeat names of places
// only.
type OpenMeteo struct {
	forecast, search *url.URL
	client           *http.Client
	limit            int64
}

// NewOpenMeteo returns the source. The error says that an address is no http or https address.
func NewOpenMeteo(c OpenMeteoConfig) (*OpenMeteo, error) {
	if c.GeocodingURL == "" {
		c.GeocodingURL = c.BaseURL
	}
	forecast, err := endpoint(c.BaseURL, DefaultForecastURL, "v1/forecast")
	if err != nil {
		return nil, err
	}
	search, err := endpoint(c.GeocodingURL, DefaultGeocodingURL, "v1/search")
	if err != nil {
		return nil, err
	}
	client := http.Client{}
	if c.HTTPClient != nil {
		client = *c.HTTPClient
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	set(&c.MaxResponse, DefaultMaxResponse)
	return &OpenMeteo{forecast: forecast, search: search, client: &client, limit: c.MaxResponse}, nil
}

func endpoint(base, def, path string) (*url.URL, error) {
	if base == "" {
		base = def
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, badConfig(NameWeather, "the base URL is not an http or https address")
	}
	return u.JoinPath(path), nil
}

// Current implements WeatherSource.
func (o *OpenMeteo) Current(ctx context.Context, location string) (Report, error) {
	p, err := o.place(ctx, location)
	if err != nil {
		return Report{}, err
	}
	var answer struct {
		Offset  int `json:"utc_offset_seconds"`
		Current *struct {
			Time        int64    `json:"time"`
			Temperature *float64 `json:"temperature_2m"`
			FeelsLike   *float64 `json:"apparent_temperature"`
			Humidity    *float64 `json:"relative_humidity_2m"`
			Wind        *float64 `json:"wind_speed_10m"`
			Code        *int     `json:"weather_code"`
		} `json:"current"`
	}
	query := url.Values{
		"latitude": {coordinate(*p.Latitude)}, "longitude": {coordinate(*p.Longitude)}, "timezone": {"auto"},
		"timeformat": {"unixtime"},
		"current":    {"temperature_2m,apparent_temperature,relative_humidity_2m,wind_speed_10m,weather_code"},
	}
	if err := o.get(ctx, o.forecast, query, &answer); err != nil {
		return Report{}, err
	}
	now := answer.Current
	const day = 24 * 60 * 60
	if now == nil || now.Temperature == nil || answer.Offset < -day || answer.Offset > day {
		return Report{}, errAnswer(nil)
	}
	r := Report{
		Location: p.name(), Temperature: *now.Temperature, FeelsLike: now.FeelsLike, Humidity: now.Humidity, Wind: now.Wind,
	}
	if now.Time > 0 && now.Time < 1<<36 {
		r.Time = time.Unix(now.Time, 0).In(time.FixedZone("", answer.Offset))
	}
	if now.Code != nil {
		r.Conditions = conditions(*now.Code)
	}
	return r, nil
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 5, 64) }

type place struct {
	Name      string   `json:"name"`
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Country   string   `json:"country"`
	Code      string   `json:"country_code"`
	Region    string   `json:"admin1"`
	District  string   `json:"admin2"`
}

func (p place) name() string {
	name := p.Name
	if p.Region != "" && p.Region != p.Name {
		name += ", " + p.Region
	}
	if p.Country != "" {
		name += ", " + p.Country
	}
	return name
}

func (p place) usable() bool {
	return p.Latitude != nil && p.Longitude != nil && *p.Latitude >= -90 && *p.Latitude <= 90 &&
		*p.Longitude >= -180 && *p.Longitude <= 180
}

// in reports whether each of the parts is a region or country of the place.
func (p place) in(parts []string) bool {
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if part != "" && !strings.EqualFold(part, p.Country) && !strings.EqualFold(part, p.Code) &&
			!strings.EqualFold(part, p.Region) && !strings.EqualFold(part, p.District) {
			return false
		}
	}
	return true
}

// maxFound is how many places of a name are looked at, maxChoices how many an error names.
const (
	maxFound   = 20
	maxChoices = 5
)

// place looks a location up.
func (o *OpenMeteo) place(ctx context.Context, location string) (place, error) {
	parts := strings.Split(location, ",")
	var answer struct {
		Results []place `json:"results"`
	}
	query := url.Values{
		"name": {strings.TrimSpace(parts[0])}, "count": {strconv.Itoa(maxFound)}, "language": {"en"}, "format": {"json"},
	}
	if err := o.get(ctx, o.search, query, &answer); err != nil {
		return place{}, err
	}
	var others []string
	for _, p := range answer.Results {
		if !p.usable() {
			continue
		}
		if p.in(parts[1:]) {
			return p, nil
		}
		if len(others) < maxChoices {
			others = append(others, quoted(p.name()))
		}
	}
	err := noPlace(location)
	if len(others) > 0 {
		err.Message += "; there are " + strings.Join(others, "; ")
	}
	return place{}, err
}

// get reads one answer of the server.
func (o *OpenMeteo) get(ctx context.Context, u *url.URL, query url.Values, answer any) error {
	address := *u
	address.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil { // without it as the cause: it repeats the address
		return protocol.ErrToolFailed("the address of the weather service is not valid")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := o.client.Do(req)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return refused(resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, o.limit+1))
	switch {
	case err != nil:
		return unreachable(ctx, err)
	case int64(len(raw)) > o.limit:
		return protocol.ErrToolFailed(fmt.Sprintf("the weather service answered more than %d bytes", o.limit))
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return errAnswer(err)
	}
	return nil
}

func errAnswer(cause error) *protocol.Error {
	return protocol.ErrToolFailed("the answer of the weather service cannot be used").Because(cause)
}

// unreachable says that the server did not answer. The address, which names the place, is not part of the cause.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return protocol.AsError(ctx.Err())
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return protocol.ErrToolTransient("the weather service does not answer").Because(err)
}

func refused(resp *http.Response) error {
	status := strconv.Itoa(resp.StatusCode)
	var e *protocol.Error
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16)
		if err != nil {
			seconds = 0
		}
		e = protocol.ErrToolRateLimited("the weather service wants fewer questions", time.Duration(seconds)*time.Second)
	case resp.StatusCode >= http.StatusInternalServerError:
		e = protocol.ErrToolTransient("the weather service answered with status " + status)
	default:
		e = protocol.ErrToolFailed("the weather service answered with status " + status)
	}
	return e.With("status", status)
}
