package ai.onnxruntime;

import java.nio.file.Path;
import java.util.Map;

public final class OrtTrainingSession implements AutoCloseable {
  @Override
  public void close() {}

  public void saveCheckpoint(Path outputPath, boolean saveOptimizer) throws OrtException {}

  public void lazyResetGrad() throws OrtException {}

  public OrtSession.Result trainStep(Map<String, ? extends OnnxTensorLike> inputs)
      throws OrtException {
    throw new OrtException();
  }

  public OrtSession.Result evalStep(Map<String, ? extends OnnxTensorLike> inputs)
      throws OrtException {
    throw new OrtException();
  }

  public void setLearningRate(float learningRate) throws OrtException {}

  public void optimizerStep() throws OrtException {}

  public void exportModelForInference(Path outputPath, String[] outputNames) throws OrtException {}
}
