// What the report says: rows at once, everything else of a finding when somebody asks for it.
const data = JSON.parse(document.getElementById("data").textContent);
const grade = (index) => data.grades[index];
const findBug = (id) => data.bugs.find((bug) => bug.id === id);
data.bugs.forEach((bug) => { bug.haystack = `${bug.id} ${bug.apis.join(" ")} ${bug.what} ${bug.because} ${bug.affects} ${bug.findings.map((i) => data.findings[i].id).join(" ")}`.toLowerCase(); });
data.findings.forEach((row, i) => {
  const bug = data.bugs[row.bug];
  Object.assign(row, { number: i, proven: row.proven, judged: bug.judged, fresh: bug.fresh, haystack: `${row.id} ${row.api} ${row.what} ${row.rule} ${bug.id}`.toLowerCase() });
});

const chunks = new Map();
const unpack = async (number) => {
  const packed = Uint8Array.from(atob(document.getElementById(`chunk-${number}`).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};
const details = async (index) => {
  const number = Math.floor(index / data.chunk);
  if (!chunks.has(number)) chunks.set(number, unpack(number));
  return (await chunks.get(number))[index % data.chunk];
};
