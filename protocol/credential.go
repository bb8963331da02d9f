package protocol

// CredentialRef names a secret and says how an operator gets it. It never holds the secret itself.
type CredentialRef struct {
	Name      string              `json:"name" wire:"required"`
	Source    SecretSource        `json:"source" wire:"required"`
	Injection CredentialInjection `json:"injection" wire:"required"`
}

// UnmarshalJSON reads a reference; the source by its type.
func (c *CredentialRef) UnmarshalJSON(raw []byte) error {
	type plain CredentialRef
	return decodeStruct(raw, (*plain)(c))
}

// CredentialInjection says how an operator gets a secret. It is comparable; the zero value is InjectSidecar.
type CredentialInjection struct {
	kind   string // empty for sidecar
	target string
}

const (
	injectEnvVar  = "env_var"
	injectFile    = "file"
	injectSidecar = "sidecar"
)

// InjectEnvVar puts the secret into an environment variable.
func InjectEnvVar(name string) CredentialInjection {
	return CredentialInjection{kind: injectEnvVar, target: name}
}

// InjectFile puts the secret into a file.
func InjectFile(path string) CredentialInjection {
	return CredentialInjection{kind: injectFile, target: path}
}

// InjectSidecar leaves the secret with a process beside the operator.
func InjectSidecar() CredentialInjection { return CredentialInjection{} }

// EnvVar returns the name of the variable, and whether the secret goes into one.
func (c CredentialInjection) EnvVar() (string, bool) { return c.target, c.kind == injectEnvVar }

// File returns the path of the file, and whether the secret goes into one.
func (c CredentialInjection) File() (string, bool) { return c.target, c.kind == injectFile }

// Sidecar reports whether the secret stays outside the operator.
func (c CredentialInjection) Sidecar() bool { return c.kind == "" }

type envVarJSON struct {
	VarName string `json:"var_name" wire:"required"`
}

type fileJSON struct {
	Path string `json:"path" wire:"required"`
}

// MarshalJSON writes {"env_var":{"var_name":"..."}}, {"file":{"path":"..."}} or "sidecar".
func (c CredentialInjection) MarshalJSON() ([]byte, error) {
	switch c.kind {
	case injectEnvVar:
		return Marshal(map[string]envVarJSON{injectEnvVar: {c.target}})
	case injectFile:
		return Marshal(map[string]fileJSON{injectFile: {c.target}})
	}
	return []byte(`"` + injectSidecar + `"`), nil
}

// UnmarshalJSON reads every form.
func (c *CredentialInjection) UnmarshalJSON(raw []byte) error {
	tag, data, err := externalTag(raw)
	switch {
	case err != nil:
		return err
	case tag == injectSidecar && data == nil:
		*c = InjectSidecar()
		return nil
	case tag == injectEnvVar && data != nil:
		var j envVarJSON
		err := decodeStruct(data, &j)
		*c = InjectEnvVar(j.VarName)
		return at(tag, err)
	case tag == injectFile && data != nil:
		var j fileJSON
		err := decodeStruct(data, &j)
		*c = InjectFile(j.Path)
		return at(tag, err)
	}
	return unknownVariant(tag, injectEnvVar, injectFile, injectSidecar)
}
