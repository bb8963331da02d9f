package builtin

import (
	"context"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultWeatherTimeout is how long a source may take if nothing else is said.
const DefaultWeatherTimeout = 15 * time.Second

const (
	maxLocation = 200 // bytes of a location
	maxText     = 300 // bytes of a text of a report
)

// Report is the weather at a place.
type Report struct {
	// Location is the place as the source names it.
	Location string
	// Time is when it was so; zero if the source does not say.
	Time time.Time
	// Conditions are a few words such as "light rain".
	Conditions string
	// Temperature is in degrees Celsius.
	Temperature float64
	// FeelsLike is in degrees Celsius, Humidity in percent, Wind in kilometres per hour; nil if the source does not say.
	FeelsLike, Humidity, Wind *float64
}

// WeatherSource knows the weather.
type WeatherSource interface {
	// Current returns the weather at a place now. The text of the error is shown to the model; it is of KindNoPlace where
	// there is no such place. Safe for concurrent use; it ends early when ctx does.
	Current(ctx context.Context, location string) (Report, error)
}

// WeatherFunc is a function as a WeatherSource.
type WeatherFunc func(ctx context.Context, location string) (Report, error)

// Current implements WeatherSource.
func (f WeatherFunc) Current(ctx context.Context, location string) (Report, error) {
	return f(ctx, location)
}

// Static is a WeatherSource that always says the same, for tests and examples. Upper and lower case of the keys, which are
// the places, do not differ. It must not be changed while it is used.
type Static map[string]Report

// Current implements WeatherSource.
func (s Static) Current(_ context.Context, location string) (Report, error) {
	for place, r := range s {
		if strings.EqualFold(place, location) {
			if r.Location == "" {
				r.Location = place
			}
			return r, nil
		}
	}
	return Report{}, noPlace(location)
}

func noPlace(location string) *protocol.Error {
	return ofKind(KindNoPlace, protocol.CodeNotFound, "there is no place "+quoted(location))
}

// WeatherConfig is where a Weather gets it from.
type WeatherConfig struct {
	// Source is asked at each call; an OpenMeteo of the zero OpenMeteoConfig if nil.
	Source WeatherSource
	// Timeout is how long the source may take; DefaultWeatherTimeout if 0.
	Timeout time.Duration
	// Fahrenheit has temperatures in degrees Fahrenheit where the model does not say.
	Fahrenheit bool
}

// Weather is the skill weather: the tool get_weather, {"location","unit"}, returns the weather at a place now. Calls may run
// beside others and may be made again.
type Weather struct{ config WeatherConfig }

// NewWeather returns the skill. The error is that of NewOpenMeteo.
func NewWeather(c WeatherConfig) (*Weather, error) {
	if c.Source == nil {
		source, err := NewOpenMeteo(OpenMeteoConfig{})
		if err != nil {
			return nil, err
		}
		c.Source = source
	}
	set(&c.Timeout, DefaultWeatherTimeout)
	return &Weather{config: c}, nil
}

// Name implements Code.
func (*Weather) Name() string { return NameWeather }

// Description implements Code.
func (*Weather) Description() string { return "Knows the weather at any place now." }

// Prompt implements Code.
func (*Weather) Prompt() string {
	return "Use get_weather when you are asked about the weather now. Name a place with its region or country where there may be " +
		"several, such as \"Paris, Texas\". It knows no forecasts and no past weather: say so when you are asked for them."
}

const weatherSchema = `{"type":"object","properties":{
	"location":{"type":"string","description":"a place, such as Berlin or \"Paris, Texas\""},
	"unit":{"type":"string","enum":["celsius","fahrenheit"],"description":"of temperatures"}},
	"required":["location"],"additionalProperties":false}`

// Tools implements Code.
func (w *Weather) Tools() []tool.Tool {
	return []tool.Tool{typed("get_weather", "Returns the weather at a place now.", weatherSchema, w.current,
		tool.Repeatable(), tool.ParallelSafe(), tool.Timeout(w.config.Timeout))}
}

type weatherInput struct {
	Location string `json:"location"`
	Unit     string `json:"unit"`
}

type weatherResult struct {
	Location    string   `json:"location"`
	Time        string   `json:"time,omitempty"` // RFC 3339, there
	Conditions  string   `json:"conditions,omitempty"`
	Temperature float64  `json:"temperature"`
	FeelsLike   *float64 `json:"feels_like,omitempty"`
	Unit        string   `json:"unit"`
	Humidity    *float64 `json:"humidity_percent,omitempty"`
	Wind        *float64 `json:"wind_kmh,omitempty"`
}

const (
	celsius    = "celsius"
	fahrenheit = "fahrenheit"
)

func (w *Weather) current(ctx context.Context, in weatherInput) (weatherResult, error) {
	location := strings.TrimSpace(in.Location)
	if location == "" || len(location) > maxLocation || strings.ContainsFunc(location, unicode.IsControl) {
		return weatherResult{}, protocol.ErrToolInput("field location: must be the name of a place")
	}
	unit := in.Unit
	if unit == "" && w.config.Fahrenheit {
		unit = fahrenheit
	} else if unit == "" {
		unit = celsius
	}
	r, err := w.config.Source.Current(ctx, location)
	if err != nil {
		return weatherResult{}, err
	}
	out := weatherResult{
		Location: short(r.Location), Conditions: short(r.Conditions), Unit: unit, Temperature: degrees(r.Temperature, unit),
		Humidity: rounded(r.Humidity, celsius), Wind: rounded(r.Wind, celsius), FeelsLike: rounded(r.FeelsLike, unit),
	}
	if !r.Time.IsZero() {
		out.Time = r.Time.Format(time.RFC3339)
	}
	if math.IsNaN(out.Temperature) || math.IsInf(out.Temperature, 0) {
		return weatherResult{}, protocol.ErrToolFailed("the source does not say the temperature")
	}
	return out, nil
}

// degrees is a temperature in the unit, to a tenth.
func degrees(t float64, unit string) float64 {
	if unit == fahrenheit {
		t = t*9/5 + 32
	}
	return math.Round(t*10)/10 + 0 // no -0
}

func rounded(v *float64, unit string) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	r := degrees(*v, unit)
	return &r
}

// short is a text of a source, which may be anybody's.
func short(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return oneLine(text)
}
