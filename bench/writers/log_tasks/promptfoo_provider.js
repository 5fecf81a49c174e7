// Answers sums: right for two of three, states a confidence, and gives a log-probability for each word.
module.exports = class {
  constructor(options) {
    this.shift = options.config.shift;
  }
  id() {
    return `calculator-${this.shift}`;
  }
  async callApi(prompt) {
    const [a, b] = prompt.match(/\d+/g).map(Number);
    const wrong = (a + this.shift) % 3 === 0 ? 1 : 0;
    return {
      output: `The answer is ${a + b + wrong}. Confidence: ${wrong ? 60 : 90}%`,
      logProbs: [-0.1, -0.05, -0.2, -0.3 - wrong, -0.1],
      tokenUsage: { total: 15, prompt: 10, completion: 5 },
    };
  }
};
