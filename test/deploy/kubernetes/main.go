// Builds kustomize folders as kubectl does and decodes every resource strictly into the types of its API: an unknown or misspelt field, a wrong
// type and an unknown kind are problems. Prints {"resources": [...], "problems": [...]} for each folder, one JSON line each.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

type report struct {
	Folder    string            `json:"folder"`
	Resources []json.RawMessage `json:"resources"`
	Problems  []string          `json:"problems"`
}

func decoder() runtime.Decoder {
	if err := keda.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	if err := gateway.Install(scheme.Scheme); err != nil {
		panic(err)
	}
	return serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		serializer.SerializerOptions{Yaml: true, Strict: true})
}

func build(decode runtime.Decoder, folder string) report {
	found := report{Folder: folder, Resources: []json.RawMessage{}, Problems: []string{}}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		found.Problems = append(found.Problems, err.Error())
		return found
	}
	for _, resource := range resources.Resources() {
		name := fmt.Sprintf("%s %s", resource.GetKind(), resource.GetName())
		text, err := resource.AsYAML()
		if err != nil {
			found.Problems = append(found.Problems, name+": "+err.Error())
			continue
		}
		if _, _, err := decode.Decode(text, nil, nil); err != nil {
			found.Problems = append(found.Problems, name+": "+err.Error())
		}
		asJSON, err := yaml.YAMLToJSON(bytes.TrimSpace(text))
		if err != nil {
			found.Problems = append(found.Problems, name+": "+err.Error())
			continue
		}
		found.Resources = append(found.Resources, asJSON)
	}
	return found
}

func main() {
	decode := decoder()
	output := json.NewEncoder(os.Stdout)
	for _, folder := range os.Args[1:] {
		if err := output.Encode(build(decode, folder)); err != nil {
			panic(err)
		}
	}
}
