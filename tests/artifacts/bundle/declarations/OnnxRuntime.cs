// The part of Microsoft.ML.OnnxRuntime 1.19 that the program of a bundle uses: names and signatures.
// System.Memory is declared too where the compiler's own library lacks it.

using System;
using System.Collections;
using System.Collections.Generic;

namespace Microsoft.ML.OnnxRuntime.Tensors
{
    public abstract class Tensor<T> : IEnumerable<T>
    {
        public abstract T GetValue(int index);
        public abstract IEnumerator<T> GetEnumerator();
        IEnumerator IEnumerable.GetEnumerator() { return GetEnumerator(); }
    }

    public class DenseTensor<T> : Tensor<T>
    {
        public DenseTensor(Memory<T> memory, ReadOnlySpan<int> dimensions, bool reverseStride = false) {}
        public DenseTensor(ReadOnlySpan<int> dimensions, bool reverseStride = false) {}
        public override T GetValue(int index) { throw new NotImplementedException(); }
        public override IEnumerator<T> GetEnumerator() { throw new NotImplementedException(); }
    }
}

namespace Microsoft.ML.OnnxRuntime
{
    using Microsoft.ML.OnnxRuntime.Tensors;

    public interface IDisposableReadOnlyCollection<T> : IReadOnlyCollection<T>, IDisposable {}

    public class NamedOnnxValue
    {
        public string Name { get; set; }
        public Tensor<T> AsTensor<T>() { throw new NotImplementedException(); }
    }

    public class DisposableNamedOnnxValue : NamedOnnxValue, IDisposable
    {
        public void Dispose() {}
    }

    public class FixedBufferOnnxValue : IDisposable
    {
        public static FixedBufferOnnxValue CreateFromTensor<T>(Tensor<T> value) { throw new NotImplementedException(); }
        public void Dispose() {}
    }

    public class OrtValue : IDisposable
    {
        public ReadOnlySpan<T> GetTensorDataAsSpan<T>() where T : struct { throw new NotImplementedException(); }
        public void Dispose() {}
    }

    public class CheckpointState : System.Runtime.InteropServices.SafeHandle
    {
        private CheckpointState() : base(IntPtr.Zero, true) {}
        public override bool IsInvalid { get { return true; } }
        protected override bool ReleaseHandle() { return true; }
        public static CheckpointState LoadCheckpoint(string checkpointPath) { throw new NotImplementedException(); }
        public static void SaveCheckpoint(CheckpointState state, string checkpointPath, bool includeOptimizerState = false) {}
        public OrtValue GetParameter(string parameterName) { throw new NotImplementedException(); }
    }

    public class TrainingSession : IDisposable
    {
        public TrainingSession(CheckpointState state, string trainModelPath, string evalModelPath, string optimizerModelPath) {}
        public IDisposableReadOnlyCollection<DisposableNamedOnnxValue> TrainStep(IReadOnlyCollection<FixedBufferOnnxValue> inputValues) { throw new NotImplementedException(); }
        public void EvalStep(IReadOnlyCollection<FixedBufferOnnxValue> inputValues, IReadOnlyCollection<FixedBufferOnnxValue> outputValues) {}
        public void LazyResetGrad() {}
        public void SetLearningRate(float learningRate) {}
        public void OptimizerStep() {}
        public void ExportModelForInferencing(string inferenceModelPath, IReadOnlyCollection<string> graphOutputNames) {}
        public void Dispose() {}
    }
}
