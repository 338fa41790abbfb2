// Shows /openapi.json. All text is inserted as text, never as markup.

const element = (tag, text, ...children) => {
  const created = document.createElement(tag);
  if (text) created.textContent = text;
  created.append(...children);
  return created;
};

const resolve = (api, node) =>
  node?.$ref
    ? node.$ref
        .slice(2)
        .split('/')
        .reduce((at, part) => at[part], api)
    : node;

const table = (headings, rows) => {
  const head = element('tr', '', ...headings.map((name) => element('th', name)));
  const body = rows.map((row) => element('tr', '', ...row.map((cell) => element('td', cell))));
  return element('table', '', element('thead', '', head), element('tbody', '', ...body));
};

const typeOf = (schema) => schema.$ref?.split('/').pop() ?? [schema.type ?? 'any'].flat().join(' or ');

const fieldsOf = (api, schema) => {
  const properties = Object.entries(resolve(api, schema)?.properties ?? {});
  return properties.map(([name, field]) => [name, typeOf(field), resolve(api, field).description ?? '']);
};

const operation = (api, path, method, spec) => {
  const title = element('h3', '', element('span', method.toUpperCase()), path);
  title.firstChild.className = 'method';
  const section = element('section', '', title, element('p', spec.description ?? spec.summary));
  const parameters = (spec.parameters ?? []).map((each) => resolve(api, each));
  if (parameters.length > 0) {
    section.append(
      table(
        ['Parameter', 'In', 'Description'],
        parameters.map((p) => [p.name, p.in, p.description ?? '']),
      ),
    );
  }
  const body = spec.requestBody?.content?.['application/json']?.schema;
  if (body) {
    section.append(table(['Field', 'Type', 'Description'], fieldsOf(api, body)));
  }
  const responses = Object.entries(spec.responses).map(([status, each]) => [status, resolve(api, each).description]);
  section.append(table(['Status', 'Description'], responses));
  return section;
};

const show = (api) => {
  document.getElementById('about').textContent = api.info.description;
  const main = document.getElementById('docs');
  main.replaceChildren(element('h2', 'Endpoints'));
  for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, spec] of Object.entries(item)) {
      main.append(operation(api, path, method, spec));
    }
  }
  main.append(element('h2', 'Errors'));
  for (const error of api['x-error-codes']) {
    const section = element('section', '', element('h3', `${error.status} ${error.code}`), element('p', error.meaning));
    section.id = error.code;
    main.append(section);
  }
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
};

const response = await fetch('/openapi.json');
show(await response.json());
