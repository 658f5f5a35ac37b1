"use strict";
const colours = {All: "#c0392b", Some: "#e67e22", None: "#95a5a6", "": "#2980b9"};
const byId = id => document.getElementById(id);
byId("title").textContent = data.title;
byId("note").textContent = data.note;
const chart = echarts.init(byId("chart"), null, {renderer: "canvas"});
const escape = s => echarts.format.encodeHTML(String(s));
const verdict = f => data.verdicts ? data.verdicts[f] : "";

function draw(column) {
  const bars = column.bars.map((b, row) => [b.l === null ? NaN : b.l, b.h === null ? NaN : b.h, row]);
  const known = column.bars.filter(b => b.l !== null);
  let min = Infinity, max = -Infinity;
  for (const b of known) { min = Math.min(min, b.l); max = Math.max(max, b.h); }
  if (min > max) { min = 0; max = 1; }
  if (min === max) { min -= 1; max += 1; }
  chart.setOption({
    animation: false,
    grid: {left: 60, right: 40, top: 36, bottom: 80},
    tooltip: {
      confine: true,
      formatter: p => {
        const b = column.bars[p.value[2]];
        let text = escape(data.paths[b.f]) + "<br>" + escape(column.name) + ": " + escape(b.t);
        if (data.verdicts) text += "<br>" + escape(data.where) + ": " + escape(verdict(b.f));
        return text;
      },
    },
    xAxis: {
      type: column.axis === "time" ? "time" : "value", min, max, name: column.name, nameLocation: "middle", nameGap: 28, axisLine: {onZero: false},
      axisLabel: column.axis === "place" ? {formatter: i => column.labels[i] ?? ""} : {},
    },
    yAxis: {type: "value", inverse: true, min: 0, max: Math.max(1, column.bars.length), name: "files", nameLocation: "start", minInterval: 1},
    dataZoom: [{type: "inside", xAxisIndex: 0}, {type: "inside", yAxisIndex: 0, zoomOnMouseWheel: "shift"}, {type: "slider", xAxisIndex: 0}, {type: "slider", yAxisIndex: 0, right: 4}],
    series: [{
      type: "custom", data: bars, encode: {x: [0, 1], y: 2}, clip: true, progressive: 0,
      renderItem: (params, api) => {
        const row = api.value(2), b = column.bars[row];
        const known = b.l !== null;
        const [x0, y0] = api.coord([known ? b.l : min, row]);
        const [x1, y1] = api.coord([known ? b.h : max, row + 1]);
        return {
          type: "rect",
          shape: {x: x0, y: y0, width: Math.max(x1 - x0, 2), height: Math.max((y1 - y0) * 0.8, 1)},
          style: {fill: colours[verdict(b.f)], opacity: known ? 1 : 0.25},
        };
      },
    }],
  }, true);
}

const select = byId("column");
data.columns.forEach((c, i) => select.add(new Option(c.name, i)));
byId("pick").hidden = data.columns.length < 2;
select.onchange = () => draw(data.columns[select.value]);
window.onresize = () => chart.resize();
if (data.columns.length > 0) draw(data.columns[0]);
document.body.dataset.drawn = "yes";
