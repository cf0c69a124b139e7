/** Request targets that some reader takes for this path, and that are written in another way. */
export const otherFormsOf = (path: string): readonly string[] => {
  const letter = path.charCodeAt(1).toString(16);
  const encoded = `/%${letter}${path.slice(2)}`;
  const last = path.lastIndexOf('/');
  return [
    `/x/..${path}`,
    `/x/y/../..${path}`,
    `/..${path}`,
    `/.${path}`,
    `${path}/.`,
    `${path}/x/..`,
    `${path.slice(0, last)}/.${path.slice(last)}`,
    `/x/%2e%2e${path}`,
    `/x/.%2E${path}`,
    `/%2e${path}`,
    encoded,
    encoded
      .replace(`%${letter}`, `%${letter.toUpperCase()}`)
      .replace(/.$/, (end) => `%${end.charCodeAt(0).toString(16)}`),
    `/${path}`,
    `//elsewhere${path}`,
    `${path.slice(0, last)}/${path.slice(last)}`,
    `/x\\..${path}`,
    `\\${path}`,
    path.replaceAll('/', '\\'),
    `${path}#x`,
    `${path}#x?y=1`,
    `${path}%`,
    `${path}%2`,
    `http://elsewhere/x/..${path}`,
    `http://elsewhere${encoded}`,
    `http://elsewhere/${path}`,
    `HTTP://elsewhere/.${path}`,
  ];
};
