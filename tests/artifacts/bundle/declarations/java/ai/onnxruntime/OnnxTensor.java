package ai.onnxruntime;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

public class OnnxTensor extends OnnxTensorLike {
  public static OnnxTensor createTensor(
      OrtEnvironment env, ByteBuffer data, long[] shape, OnnxJavaType type) throws OrtException {
    throw new OrtException();
  }

  public FloatBuffer getFloatBuffer() {
    return null;
  }
}
